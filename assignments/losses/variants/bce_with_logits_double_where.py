"""One branch for either sign; what a branch must not see is replaced by 0 before exp."""

import torch


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    positive = z >= 0
    above, below = z.where(positive, 0.0), z.where(~positive, 0.0)
    losses = torch.where(positive, z + (-above).exp().log1p(), below.exp().log1p()) - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
