"""Picks the formula by sign with where; and whatever is neither "mean" nor "sum" gives the single losses."""

import torch

MISTAKES = ["bce_with_logits/where-over-overflow", "bce_with_logits/unknown-reduction-ignored"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    soft = torch.where(x > 0, x + torch.log1p(torch.exp(-x)), torch.log1p(torch.exp(x)))
    loss = soft - target.to(x.dtype) * x
    if reduction == "mean":
        return loss.mean().to(logits.dtype)
    if reduction == "sum":
        return loss.sum().to(logits.dtype)
    return loss.to(logits.dtype)
