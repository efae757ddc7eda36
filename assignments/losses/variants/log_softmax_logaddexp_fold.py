"""logaddexp takes in one shifted slice after the other, from the first to the last."""

from functools import reduce

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    if x.numel() == 0 or x.dim() == 0:
        return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
    first, *others = z.split(1, dim)
    return (z - reduce(torch.logaddexp, others, first)).to(x.dtype)
