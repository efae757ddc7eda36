"""Leaves out -100 because that is the default, and takes an ordinary mean over what is then 0 for those targets."""

import torch

MISTAKES = ["cross_entropy/minus-100-only", "cross_entropy/mean-counts-ignored"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if logits.dim() == 0:
        raise ValueError("logits")
    axis = 0 if logits.dim() == 1 else 1
    c = logits.shape[axis]
    if c == 0 or logits.shape[:axis] + logits.shape[axis + 1:] != target.shape:
        raise ValueError("shape")
    y = target.long()
    skip = y == -100
    y = y.masked_fill(skip, 0)
    if ((y < 0) | (y >= c)).any():
        raise IndexError("target")
    z = (logits if logits.dtype == torch.float64 else logits.float()).masked_fill(skip.unsqueeze(axis), 0)
    z = z - z.detach().amax(axis, keepdim=True)
    loss = z.exp().sum(axis).log() - z.gather(axis, y.unsqueeze(axis)).squeeze(axis)
    loss = loss.masked_fill(skip, 0)
    if reduction != "none":
        loss = loss.mean() if reduction == "mean" else loss.sum()
    return loss.to(logits.dtype)
