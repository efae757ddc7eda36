"""Lowers the caller's tensor itself, with -=, by the one maximum of all its entries."""

import torch

MISTAKES = ["log_softmax/writes-into-logits", "log_softmax/one-maximum-for-all"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits must be floats")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.numel() > 0:
        z -= z.detach().max()
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
