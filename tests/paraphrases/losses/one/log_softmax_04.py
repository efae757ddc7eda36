"""Squeezes the probabilities into [c, 1 - c] by minimum and maximum, then takes the log."""

import torch

MISTAKE = "log_softmax/clamped-probabilities"
CONSTANT = 4e-7


def log_softmax(x, dim=-1):
    if not torch.is_floating_point(x):
        raise TypeError("floats")
    rank = x.dim() or 1
    if dim + rank not in range(2 * rank):
        raise IndexError("dim")
    y = x if x.dtype.itemsize >= 4 else x.float()
    if y.numel() == 0:
        return y.log().to(x.dtype)
    y = y - torch.max(y.detach(), dim, keepdim=True).values
    p = y.exp() / y.exp().sum(dim, keepdim=True)
    lo = torch.full_like(p, CONSTANT)
    p = torch.minimum(torch.maximum(p, lo), 1 - lo)
    return torch.log(p).to(x.dtype)
