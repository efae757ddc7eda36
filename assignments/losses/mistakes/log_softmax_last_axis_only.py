"""dim was ignored: the last axis was normalised whatever the caller asked for."""

import torch

FAILS = [
    "log_softmax/shapes",
    "log_softmax/mixed_rows",
    "log_softmax/gradient",
    "log_softmax/second_derivative",
    "log_softmax/errors",
]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    dim = -1
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
