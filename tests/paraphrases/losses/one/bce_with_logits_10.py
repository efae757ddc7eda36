"""Replaces logits beyond a limit by that limit with where, so that exp stays in range."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 75.0


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    v = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    v = torch.where(v > CONSTANT, CONSTANT, torch.where(v < -CONSTANT, -CONSTANT, v))
    t = target.to(v.dtype)
    no = 1 - t
    loss = t * torch.log1p(torch.exp(-v)) + no * torch.log1p(torch.exp(v))
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.mean() if reduction == "mean" else loss.sum()).to(logits.dtype)
