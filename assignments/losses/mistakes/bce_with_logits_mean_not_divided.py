"""The mean is the sum of the losses, never divided by the number of elements."""

import torch
from torch.nn.functional import softplus

FAILS = [
    "bce_with_logits/reductions",
    "bce_with_logits/shapes",
    "bce_with_logits/empty",
    "bce_with_logits/gradient",
    "bce_with_logits/second_derivative",
    "bce_with_logits/half_batch",
]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = softplus(z) - z * t
    if reduction in ("sum", "mean"):
        losses = losses.sum()
    return losses.to(logits.dtype)
