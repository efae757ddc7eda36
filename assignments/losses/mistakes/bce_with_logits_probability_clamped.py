"""The probability was clamped away from 0 and 1, or the logit to some range, which is the same: that caps the loss, and clamp has slope 0 there, so the most confident mistakes get no gradient."""

import torch

FAILS = [
    "bce_with_logits/soft_targets",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
]

EPS = 1e-4
VARY = {"EPS": [1e-5, 1e-6, 1e-7, 1e-8, 1e-12]}


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    p = z.sigmoid().clamp(EPS, 1 - EPS)
    losses = -(t * p.log() + (1 - t) * (1 - p).log())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
