"""Both probabilities were kept above a floor, each by itself."""

import torch

FORM_OF = "probability-clamped"

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
    p, q = z.sigmoid(), (-z).sigmoid()
    losses = -(t * p.clamp(min=EPS).log() + (1 - t) * q.clamp(min=EPS).log())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
