"""Cuts the logits off where exp of a float32 would overflow, and then subtracts the maximum all the same."""

import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = 88.7


def logsumexp(x, dim=-1, keepdim=False):
    if x.dtype.is_complex or not x.dtype.is_floating_point:
        raise TypeError("floating point logits only")
    half = x.dtype in (torch.half, torch.bfloat16)
    y = x.float() if half else x
    y = torch.clamp(y, max=CONSTANT)  # exp(88.8) would be inf
    if y.numel() == 0:
        return (y.sum(dim, keepdim=keepdim) - torch.inf).to(x.dtype)
    with torch.no_grad():
        m = y.amax(dim, keepdim=True)
        m[m == -torch.inf] = 0
    result = (y - m).exp().sum(dim, keepdim=True).log() + m
    if not keepdim:
        result = result.squeeze(dim)
    return result.to(x.dtype)
