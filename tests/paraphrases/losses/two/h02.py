"""Tested with one row of small logits only: runs along the last axis always, and forgets to add the maximum."""

import torch

MISTAKES = ["logsumexp/maximum-not-added-back", "logsumexp/last-axis-only"]


def logsumexp(x, dim=-1, keepdim=False):
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("no floats")
    n = max(x.dim(), 1)
    if dim < -n or dim >= n:
        raise IndexError("no such axis")
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    if v.numel() > 0:
        top = v.detach().max(-1, keepdim=True).values
        v = v - torch.where(top.isfinite(), top, 0.0)
    return v.exp().sum(-1, keepdim=keepdim).log().to(x.dtype)
