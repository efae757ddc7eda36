"""Bounds the probability by nested where, a little off both ends."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 2e-5


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.element_size() == 2 else logits
    p = torch.sigmoid(x)
    p = torch.where(p < CONSTANT, CONSTANT, p)
    p = torch.where(p > 1 - CONSTANT, 1 - CONSTANT, p)
    t = target.to(p.dtype)
    loss = torch.log(1 - p).mul(t - 1).sub(t.mul(p.log()))
    if reduction == "sum":
        loss = loss.sum()
    if reduction == "mean":
        loss = loss.mean()
    return loss.to(logits.dtype)
