"""Clamps p = sigmoid(x) into [c, 1 - c] and takes logs of that."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 1e-6


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    p = torch.clamp(torch.special.expit(x), CONSTANT, 1 - CONSTANT)
    loss = -(t * p.log() + (1 - t) * torch.log1p(-p))
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
