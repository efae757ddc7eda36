"""Where the logarithm is below the cut it was replaced by it, which leaves a gradient of 0 instead of nan."""

import torch

FORM_OF = "log-clamped"

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

    def log(q):
        safe = torch.where(q == 0, 1.0, q)
        return torch.where(q == 0, CUT, safe.log()).clamp(min=CUT)

    losses = -(t * log(p) + (1 - t) * log(1 - p))
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
