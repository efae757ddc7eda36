"""At a logit of exactly 0 the part max(x, 0) was given slope 1 and |x| slope 0, so the gradient is 1 - t instead of 0.5 - t; torch.maximum shares the tie, and softplus has no kink."""

import torch

FAILS = ["bce_with_logits/gradient_at_zero"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = torch.where(z >= 0, z, 0.0) - z * t + (-z.abs()).exp().log1p()
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
