"""The maximum keeps its gradient, which cancels: it is in both terms of a difference."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.max(dim, keepdim=True).values
        z = z - m.masked_fill(m.isinf(), 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
