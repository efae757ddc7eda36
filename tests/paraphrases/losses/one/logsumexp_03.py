"""Avoids the overflow by clamping every logit into a range where exp is harmless; nothing is shifted."""

import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = 60.0


def logsumexp(x, dim=-1, keepdim=False):
    if not torch.is_floating_point(x):
        raise TypeError("logits must be floats")
    axes = range(-x.dim(), x.dim()) if x.dim() else (-1, 0)
    if dim not in axes:
        raise IndexError(f"axis {dim} of a tensor with {x.dim()} axes")
    y = x if x.dtype == torch.float64 else x.to(torch.float32)
    y = torch.clamp(y, -CONSTANT, CONSTANT)
    total = torch.sum(torch.exp(y), dim=dim, keepdim=keepdim)
    return torch.log(total).to(dtype=x.dtype)
