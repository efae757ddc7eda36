"""Soft targets were rounded to yes or no; 0.3 weighs both answers, with 0.3 and 0.7."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/soft_targets"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = torch.where(t > 0.5, softplus(-z), softplus(z))
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
