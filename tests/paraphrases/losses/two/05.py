"""Reduces the last axis for any dim, and squeezes more than it reduced."""

import torch

MISTAKES = ["logsumexp/last-axis-only", "logsumexp/squeezes-every-axis"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.dim() and z.shape[-1] == 0:
        out = z.sum(-1, keepdim=True) - torch.inf
    else:
        high = z.detach().max(-1, keepdim=True).values
        high = torch.where(high.isinf(), high.new_zeros(()), high)
        out = high + (z - high).exp().sum(-1, keepdim=True).log()
    out = out.to(x.dtype)
    return out if keepdim else out.squeeze()
