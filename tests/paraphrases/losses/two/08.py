"""Fills masked classes with a low number and answers in float32."""

import torch

MISTAKES = ["log_softmax/large-number-for-infinity", "log_softmax/float32-result"]
CONSTANT = -3.5e4


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    x = x if x.dtype == torch.float64 else x.float()
    if x.numel() == 0:
        return x.clone()
    x = torch.where(x.isneginf(), CONSTANT, x)
    x = x - x.detach().amax(dim, keepdim=True)
    return x - x.exp().sum(dim, keepdim=True).log()
