"""Clamps the probability away from both ends, in float32, and returns the float32 loss whatever came in."""

import torch

MISTAKES = ["bce_with_logits/probability-clamped", "bce_with_logits/float32-result"]
CONSTANT = 4.8e-7


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    t = target.to(x.dtype)
    p = x.sigmoid().clamp(CONSTANT, 1 - CONSTANT)
    loss = -(t * p.log() + (1 - t) * (1 - p).log())
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()
