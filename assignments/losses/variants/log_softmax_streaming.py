"""One pass over blocks of 1000 with a running maximum and a rescaled running sum; the two are subtracted one by one."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() == 0 or x.dim() == 0:
        return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
    total, m = 0.0, torch.tensor(-torch.inf, dtype=z.dtype)
    for part in z.split(1000, dim):
        new = torch.maximum(m, part.detach().amax(dim, keepdim=True))
        shift = torch.where(new.isfinite(), new, 0.0)
        total = total * (m - shift).exp() + (part - shift).exp().sum(dim, keepdim=True)
        m = new
    return (z - torch.where(m.isfinite(), m, 0.0) - total.log()).to(x.dtype)
