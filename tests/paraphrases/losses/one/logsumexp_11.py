"""Subtracts each slice's maximum without a look at what that maximum is: infinities meet infinities."""

import torch

MISTAKE = "logsumexp/no-guard"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("not floating point")
    if x.dim() == 0 and not -1 <= dim <= 0:
        raise IndexError(dim)
    z = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    if z.dim() > 0 and z.size(dim) == 0:
        return torch.log(z.sum(dim, keepdim=keepdim)).to(x.dtype)
    with torch.no_grad():
        best = torch.max(z, dim, keepdim=True)[0]
    out = torch.log(torch.exp(z - best).sum(dim, keepdim=True)) + best
    if keepdim is False:
        out = out.squeeze(dim)
    return out.to(x.dtype)
