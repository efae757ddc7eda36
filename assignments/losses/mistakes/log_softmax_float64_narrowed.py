"""float() was called on every input: float64 logits lost half of their digits, and those above 3.4e38 became inf."""

import torch

FAILS = [
    "log_softmax/extreme_logits",
    "log_softmax/dtypes",
    "log_softmax/gradient_of_extremes",
    "log_softmax/second_derivative",
    "log_softmax/shift_invariance",
]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float()
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
