"""view(-1) needs a contiguous tensor: transposed, sliced or expanded inputs raise; there is nothing to flatten here."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/strides"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    z, t = z.view(-1), t.view(-1)
    losses = (softplus(z) - z * t).view(logits.shape)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
