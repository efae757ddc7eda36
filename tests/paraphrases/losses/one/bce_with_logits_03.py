"""Smooths the argument of the log with a number that is anything but small."""

import torch

MISTAKE = "bce_with_logits/large-eps-in-log"
CONSTANT = 2e-2


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.dtype.is_floating_point:
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in {"none", "sum", "mean"}:
        raise ValueError("reduction")
    work = logits.float() if logits.dtype.itemsize == 2 else logits
    yes = target.to(work.dtype)
    q = torch.stack([work.sigmoid(), work.neg().sigmoid()])
    weights = torch.stack([yes, 1 - yes])
    losses = -(weights * (q + CONSTANT).log()).sum(0)
    result = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / losses.numel()}[reduction]
    return result.to(logits.dtype)
