"""The largest entry, exp(0) = 1, is left out of the sum by scatter, and log1p puts it back."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() == 0:
        return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
    m, largest = z.max(dim, keepdim=True)
    s = z - m.masked_fill(m.isinf(), 0.0)
    others = torch.ones_like(z, dtype=torch.bool).scatter(dim, largest, value=False)
    rest = torch.where(others, s.exp(), 0.0).sum(dim, keepdim=True)
    return (s - rest.log1p()).to(x.dtype)
