"""sigmoid rounds to exactly 1 from a logit of 17 on in float32, and then log(1 - 1) is -inf with gradient nan; take the log on paper, before anything is rounded."""

import torch

FAILS = ["bce_with_logits/soft_targets", "bce_with_logits/confident_mistakes", "bce_with_logits/extreme_logits"]


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
    losses = -(t * p.log() + (1 - t) * (1 - p).log())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
