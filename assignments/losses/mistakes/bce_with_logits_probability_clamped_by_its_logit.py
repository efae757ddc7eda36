"""The logits were clamped: the same function as with clamped probabilities, by another way."""

import torch
from torch.nn.functional import softplus

FORM_OF = "probability-clamped"

FAILS = [
    "bce_with_logits/soft_targets",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
]

LIMIT = 10.0
VARY = {"LIMIT": [20.0, 30.0, 50.0, 80.0]}


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    z = z.clamp(-LIMIT, LIMIT)
    losses = softplus(z) - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
