"""The result took the wider dtype of logits and target: float32 logits beside a float64 target gave a float64 loss, instead of one of the logits' dtype."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/dtypes"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target
    losses = softplus(z) - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(torch.promote_types(logits.dtype, target.dtype))
