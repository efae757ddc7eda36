"""Believes that the shift alone is the normalisation."""

import torch

MISTAKE = "log_softmax/maximum-for-logsumexp"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return (wide - wide.amax(dim, keepdim=True)).to(x.dtype)
