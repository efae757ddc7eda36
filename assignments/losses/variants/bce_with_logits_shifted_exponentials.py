"""Shifted by m = max(-x, 0): x - x·t + m + log(exp(-m) + exp(-x - m)); the slope of m cancels, at 0 too."""

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
    m = (-z).clamp(min=0)
    losses = z - z * t + m + ((-m).exp() + (-z - m).exp()).log()
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
