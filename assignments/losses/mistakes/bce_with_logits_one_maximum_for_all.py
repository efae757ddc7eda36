"""One maximum was subtracted from all logits: far below it exp underflows to log(0) = -inf, and a single nan becomes everyone's; each element has its own max(x, 0)."""

import torch

FAILS = ["bce_with_logits/extreme_logits", "bce_with_logits/not_a_number"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    m = z.detach().max().clamp(min=0) if z.numel() else 0 * z.sum()
    losses = m + ((-m).exp() + (z - m).exp()).log() - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
