"""Clips the logits to a symmetric range before a loss that would have been stable without it."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 40.0


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = (logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits).clamp(-CONSTANT, CONSTANT)
    t = target.to(x.dtype)
    loss = torch.logaddexp(torch.zeros_like(x), -x) + (1 - t) * x
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
