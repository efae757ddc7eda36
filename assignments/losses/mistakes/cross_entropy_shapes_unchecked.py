"""Shapes that do not match were broadcast: (N, 1) targets on (N, C) logits give a table of N × N losses instead of a ValueError."""

import torch

FAILS = ["cross_entropy/errors"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("targets are class numbers")
    axis = 0 if logits.dim() == 1 else 1
    classes = logits.shape[axis]
    target = target.long()
    counted = target != ignore_index
    if (counted & ((target < 0) | (target >= classes))).any():
        raise IndexError("no such class")
    index = torch.where(counted, target, 0)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    m = z.detach().amax(axis, keepdim=True)
    z = z - torch.where(m.isfinite(), m, 0.0)
    if logits.dim() == 2:
        picked = z[torch.arange(len(z)), index]
    else:
        picked = z.gather(axis, index.unsqueeze(axis)).squeeze(axis)
    losses = z.exp().sum(axis).log() - picked
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
