"""Shapes that are not the same were broadcast: (N, 1) logits beside (N) targets give N × N losses, most of them of pairs that do not belong together, instead of a ValueError."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/errors"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = softplus(z) - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
