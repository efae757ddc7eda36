"""Sums over axis 0 whatever was asked for: columns are normalised instead of slices along dim."""

import torch

MISTAKE = "log_softmax/normalised-over-the-batch"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x + 0
    work = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    top = work.detach().amax(0)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    work = work - top
    return (work - work.exp().sum(0).log()).to(x.dtype)
