"""Sigmoid, logs with a small addend, and a loss that keeps the dtype of the work."""

import torch

MISTAKES = ["bce_with_logits/eps-in-log", "bce_with_logits/float32-result"]
CONSTANT = 8e-9


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    t = target.to(x.dtype)
    p = torch.sigmoid(x)
    loss = -t * (p + CONSTANT).log() - (1 - t) * ((1 - p) + CONSTANT).log()
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.mean()
