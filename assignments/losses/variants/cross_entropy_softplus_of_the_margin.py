"""softplus of the log-sum-exp of the other classes' margins over the target."""

import torch
from torch.nn.functional import softplus


def lse(z, dim):
    top = z.detach().amax(dim, keepdim=True)
    top = top.where(top.isfinite(), 0.0)
    return (z - top).exp().sum(dim, keepdim=True).log() + top


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
    masked = mine == -torch.inf
    margins = (z - torch.where(masked, 0.0, mine)).scatter(axis, index, -torch.inf)
    losses = softplus(lse(margins, axis), threshold=40.0)  # the default is linear from 20 on, too early for float64
    losses = torch.where(masked, torch.inf, losses).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
