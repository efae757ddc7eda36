"""Both probabilities are computed with care, sigmoid(x) and sigmoid(-x), and then an epsilon goes into each log."""

import torch

MISTAKE = "bce_with_logits/eps-in-log"
CONSTANT = 3e-10


def _surprise(score):
    """-log of the probability of this answer, nearly."""
    return -torch.log(torch.sigmoid(score) + CONSTANT)


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if tuple(logits.shape) != tuple(target.shape):
        raise ValueError(f"{tuple(logits.shape)} and {tuple(target.shape)}")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(reduction)
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    t = target.detach().to(x.dtype)
    each = t * _surprise(x) + (1 - t) * _surprise(-x)
    if reduction == "none":
        out = each
    elif reduction == "sum":
        out = each.sum()
    else:
        out = each.sum() / each.numel() if each.numel() else each.sum() * float("nan")
    return out.to(logits.dtype)
