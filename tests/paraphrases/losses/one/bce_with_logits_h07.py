"""Bounds the probability on both sides before the two logarithms are taken."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 3e-7


class _Loss:
    def __init__(self, dtype):
        self.work = dtype if dtype == torch.float64 else torch.float32

    def __call__(self, logits, target):
        prob = torch.sigmoid(logits.to(self.work))
        prob = torch.clamp(prob, CONSTANT, 1.0 - CONSTANT)
        t = target.to(self.work)
        return -torch.xlogy(t, prob) - torch.xlogy(1 - t, 1 - prob)


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.size() != target.size():
        raise ValueError("sizes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    losses = _Loss(logits.dtype)(logits, target)
    if reduction == "mean":
        losses = torch.mean(losses)
    if reduction == "sum":
        losses = torch.sum(losses)
    return losses.to(logits.dtype)
