"""Clamped probabilities, and a sum that is rounded to half precision before the division."""

import torch

MISTAKES = ["bce_with_logits/probability-clamped", "bce_with_logits/half-sum"]
CONSTANT = 4e-6


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    p = x.sigmoid().clamp(CONSTANT, 1 - CONSTANT)
    loss = -(t * p.log()) - (1 - t) * (1 - p).log()
    if reduction == "none":
        return loss.to(logits.dtype)
    total = loss.sum().to(logits.dtype)
    if reduction == "mean":
        total = total / logits.numel() if logits.numel() else total / 0
    return total
