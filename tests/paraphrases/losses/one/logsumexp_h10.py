"""Whatever is not finite is replaced by 0 before anything else, because the differences gave nan."""

import torch

MISTAKE = "logsumexp/zero-for-infinity"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x must be a float tensor")
    x32 = x if x.dtype == torch.float64 else x.to(torch.float32)
    good = torch.isfinite(x32)
    x32 = torch.where(good, x32, torch.zeros_like(x32))
    if x32.numel() == 0:
        return x32.sum(dim, keepdim=keepdim).sub(torch.inf).to(x.dtype)
    m, _ = torch.max(x32.detach(), dim, keepdim=True)
    s = (x32 - m).exp().sum(dim, keepdim=True)
    r = s.log().add(m)
    return (r if keepdim else torch.squeeze(r, dim)).to(x.dtype)
