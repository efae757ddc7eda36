"""max(x, 0) as x/2 + |x|/2, whose slope at 0 is a half; plain log(1 + y) is exact enough for y <= 1."""

import torch


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = z / 2 + z.abs() / 2 - z * t + (1 + (-z.abs()).exp()).log()
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
