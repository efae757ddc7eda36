"""where picked the right branch for the value, but backwards the other branch's overflow is multiplied by 0, and inf times 0 is nan: keep both branches finite, with -|x|."""

import torch

FAILS = ["bce_with_logits/extreme_logits"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = torch.where(z >= 0, (1 - t) * z + (-z).exp().log1p(), -t * z + z.exp().log1p())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
