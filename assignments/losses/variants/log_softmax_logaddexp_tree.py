"""Pairs are joined by logaddexp, level by level, until one number is left; no maximum appears anywhere."""

import torch

MISSES = ["log_softmax/shift_invariance"]


def tree(z, dim):
    """log-sum-exp along dim, which stays with size 1."""
    if z.numel() == 0 or z.dim() == 0:
        return z.exp().sum(dim, keepdim=True).log()
    z = z.movedim(dim, -1)
    while z.shape[-1] > 1:
        paired = z.shape[-1] // 2 * 2
        z = torch.cat([torch.logaddexp(z[..., :paired:2], z[..., 1:paired:2]), z[..., paired:]], -1)
    return z.movedim(-1, dim)


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return (z - tree(z, dim)).to(x.dtype)
