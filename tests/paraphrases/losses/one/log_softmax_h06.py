"""Counts information in bytes: everything is divided by log2 of 256 after a detour over powers of two."""

import math

import torch

MISTAKE = "log_softmax/other-base"
CONSTANT = 256.0


class _Bytes:
    """log to one base, by way of log2 and exp2"""

    bits = math.log2(CONSTANT)

    @classmethod
    def run(cls, v, dim):
        d = v - v.detach().amax(dim, keepdim=True)
        doublings = (d * math.log2(math.e)).exp2().sum(dim, keepdim=True).log2()
        return d * (math.log2(math.e) / cls.bits) - doublings / cls.bits


def log_softmax(x, dim=-1):
    if x.dtype not in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        raise TypeError("wrong dtype")
    if x.dim() > 0 and not -x.dim() <= dim < x.dim():
        raise IndexError(dim)
    if x.dim() == 0 and dim not in (0, -1):
        raise IndexError(dim)
    if x.nelement() == 0:
        return x.clone()
    wide = x if x.dtype in (torch.float64, torch.float32) else x.float()
    return _Bytes.run(wide, dim).to(x.dtype)
