"""Where sigmoid rounds to 1, log(1 - p) was cut off at -100, as the library's loss for probabilities does: the loss jumps from 17 to 100, and no gradient is left."""

import torch

FAILS = [
    "bce_with_logits/soft_targets",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
]


CUT = -100.0
VARY = {"CUT": [-50.0, -30.0, -17.5]}


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    p = z.sigmoid()
    losses = -(t * p.log().clamp(min=CUT) + (1 - t) * (1 - p).log().clamp(min=CUT))
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
