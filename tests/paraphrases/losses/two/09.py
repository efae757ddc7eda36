"""Exponentials of the raw logits, summed over axis 0 whatever dim says."""

import torch

MISTAKES = ["log_softmax/no-shift", "log_softmax/normalised-over-the-batch"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    v = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    columns = torch.exp(v).sum(0, keepdim=True) if v.dim() else torch.exp(v)
    return (v - torch.log(columns)).to(x.dtype)
