"""Shifts by x.max() of everything and does not ask whether that is an infinity."""

import torch

MISTAKES = ["logsumexp/one-maximum-for-all", "logsumexp/no-guard"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x")
    if x.dim() == 0:
        if dim not in (0, -1):
            raise IndexError("dim")
        return logsumexp(x[None], 0)
    x.size(dim)
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.numel() == 0:
        return z.exp().sum(dim, keepdim=keepdim).log().to(x.dtype)
    biggest = float(z.detach().max())
    return (torch.exp(z - biggest).sum(dim, keepdim=keepdim).log() + biggest).to(x.dtype)
