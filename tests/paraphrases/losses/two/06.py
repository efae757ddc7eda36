"""Probabilities with one maximum for the whole tensor, and the log of them."""

import torch

MISTAKES = ["log_softmax/log-of-softmax", "log_softmax/one-maximum-for-all"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    e = torch.exp(z - z.detach().max())
    return (e / e.sum(dim, keepdim=True)).log().to(x.dtype)
