"""The loss as log-sum-exp of how far each class is ahead of the target, folded by logaddexp from the target's own 0."""

import torch


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("targets are class numbers")
    axis = 0 if logits.dim() == 1 else 1
    classes = logits.shape[axis]
    if classes == 0 or target.shape != logits.shape[:axis] + logits.shape[axis + 1 :]:
        raise ValueError("the shapes do not belong together")
    target = target.long()
    counted = target != ignore_index
    if (counted & ((target < 0) | (target >= classes))).any():
        raise IndexError("no such class")
    index = torch.where(counted, target, 0).unsqueeze(axis)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(counted.unsqueeze(axis), z, 0.0)
    mine = z.gather(axis, index)
    ruled_out = mine == -torch.inf  # inf - inf would be nan; such a target costs inf, whatever the others hold
    ahead = z - torch.where(ruled_out, 0.0, mine)
    others = torch.ones_like(z, dtype=torch.bool).scatter(axis, index, False)
    losses = torch.zeros_like(mine)
    for number in range(classes):
        rival = ahead.narrow(axis, number, 1)
        grown = torch.logaddexp(losses, rival)
        losses = torch.where(others.narrow(axis, number, 1), grown, losses)
    losses = torch.where(ruled_out, torch.inf, losses).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
