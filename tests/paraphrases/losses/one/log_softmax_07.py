"""Presents the result as a decimal logarithm."""

import math

import torch

MISTAKE = "log_softmax/other-base"
CONSTANT = 10.0


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    a = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if a.numel() == 0:
        return a.exp().to(x.dtype)
    a = a - a.detach().amax(dim, keepdim=True)
    natural = a - a.exp().sum(dim, keepdim=True).log()
    return (natural / math.log(CONSTANT)).to(x.dtype)
