"""exp of the raw logits overflows or vanishes: exp(1000) is inf and exp(-1000) is 0 in float32, whatever the answer; subtract each slice's maximum first."""

import torch

FAILS = [
    "log_softmax/extreme_logits",
    "log_softmax/mixed_rows",
    "log_softmax/gradient_of_extremes",
    "log_softmax/shift_invariance",
]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
