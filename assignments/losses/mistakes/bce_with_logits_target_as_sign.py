"""log(1 + exp((1 - 2t) · x)) is the loss for targets of 0 and 1 only; in between the loss is a weighted mean of both ends."""

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
    losses = softplus((1 - 2 * t) * z)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
