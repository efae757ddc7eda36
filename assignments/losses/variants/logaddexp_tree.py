"""Pairs are joined by logaddexp, level by level, until one number is left; no maximum appears anywhere."""

import torch


def tree(z, dim):
    """log-sum-exp along dim, which stays with size 1."""
    if z.dim() == 0:
        return z
    z = z.movedim(dim, -1)
    if z.shape[-1] == 0:
        return z.new_full((*z.shape[:-1], 1), -torch.inf).movedim(-1, dim)
    while z.shape[-1] > 1:
        paired = z.shape[-1] // 2 * 2
        z = torch.cat([torch.logaddexp(z[..., :paired:2], z[..., 1:paired:2]), z[..., paired:]], -1)
    return z.movedim(-1, dim)


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = tree(z, dim)
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)


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
    z = z - z.detach().amax(axis, keepdim=True).clamp(min=torch.finfo(z.dtype).min)
    losses = (tree(z, axis) - z.gather(axis, index)).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
