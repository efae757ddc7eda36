"""Keeps the probabilities from becoming 0 with a lower clamp, and logs them."""

import torch

MISTAKE = "log_softmax/clamped-probabilities"
CONSTANT = 5e-6


def _shares(z, dim):
    big = z.detach().amax(dim, keepdim=True)
    big = torch.where(big.isinf(), torch.zeros_like(big), big)
    weights = torch.exp(z - big)
    return weights.div(weights.sum(dim, keepdim=True))


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x must be floating point")
    if x.dim() == 0 and dim not in (0, -1):
        raise IndexError("dim")
    if x.dim() and not -x.dim() <= dim < x.dim():
        raise IndexError("dim")
    half = x.dtype in (torch.float16, torch.bfloat16)
    z = x.float() if half else x
    if z.numel():
        z = _shares(z, dim).clamp(min=CONSTANT).log()
    else:
        z = z + 0
    return z.to(x.dtype)
