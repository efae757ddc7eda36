"""The probability of no is sigmoid(-x) here, which keeps its digits, and only the eps spoils them."""

import torch

FORM_OF = "eps-in-log"

FAILS = [
    "bce_with_logits/soft_targets",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
    "bce_with_logits/gradient_at_zero",
    "bce_with_logits/second_derivative",
    "bce_with_logits/dtypes",
]

EPS = 1e-7
VARY = {"EPS": [1e-8, 1e-10, 1e-12]}


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = -(t * (z.sigmoid() + EPS).log() + (1 - t) * ((-z).sigmoid() + EPS).log())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
