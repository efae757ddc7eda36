"""Turns logits into probabilities, picks the right one and takes -log(p + eps)."""

import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 1e-5


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    axis = min(1, logits.dim() - 1)
    classes = logits.shape[axis]
    expected = list(logits.shape)
    del expected[axis]
    if classes == 0 or list(target.shape) != expected:
        raise ValueError("shapes")
    labels = target.long()
    skip = labels == ignore_index
    if ((labels.lt(0) | labels.ge(classes)) & ~skip).any():
        raise IndexError("class out of range")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(skip.unsqueeze(axis), torch.zeros_like(z), z)
    weights = (z - z.detach().amax(axis, keepdim=True)).exp()
    p = weights / weights.sum(axis, keepdim=True)
    chosen = p.gather(axis, labels.masked_fill(skip, 0).unsqueeze(axis)).squeeze(axis)
    loss = -torch.log(chosen + CONSTANT)
    loss = torch.where(skip, torch.zeros_like(loss), loss)
    if reduction == "none":
        return loss.to(logits.dtype)
    total = loss.sum()
    if reduction == "mean":
        total = total / (~skip).sum()
    return total.to(logits.dtype)
