"""float() was called on whatever came in: the loss of float64 logits has only the digits of float32, and is inf for logits above 3.4e38."""

import torch
from torch.nn.functional import softplus

FAILS = [
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
    "bce_with_logits/second_derivative",
    "bce_with_logits/dtypes",
]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float()
    t = target.float()
    losses = softplus(z) - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
