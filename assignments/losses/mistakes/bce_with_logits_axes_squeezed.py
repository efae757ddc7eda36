"""squeeze() dropped the axes of size 1: the losses of (N, 1) logits came back as (N), ready to be broadcast against something else."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/shapes"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = (softplus(z) - z * t).squeeze()
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
