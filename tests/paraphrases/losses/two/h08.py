"""Lets logits and targets broadcast, and divides the sum by the number of rows of the logits."""

import torch
import torch.nn.functional as F

MISTAKES = ["bce_with_logits/shapes-unchecked", "bce_with_logits/mean-over-rows"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits have to be floating point")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction has to be none, sum or mean")
    x = logits.float() if logits.dtype.itemsize == 2 else logits
    y = target.to(x.dtype)
    loss = -(y * F.logsigmoid(x) + (1 - y) * F.logsigmoid(-x))
    if reduction == "mean":
        loss = loss.sum() / (logits.shape[0] if logits.dim() else 1)
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
