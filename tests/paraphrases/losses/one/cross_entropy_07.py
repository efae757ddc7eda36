"""Switches ignored targets off by multiplying their losses with 0."""

import torch

MISTAKE = "cross_entropy/mask-multiplied"


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    axis = 0 if logits.dim() == 1 else 1
    size = logits.shape[axis]
    if size == 0 or tuple(target.shape) != tuple(s for i, s in enumerate(logits.shape) if i != axis):
        raise ValueError("shapes")
    t = target.long()
    on = t != ignore_index
    if torch.any(on & ((t < 0) | (t >= size))):
        raise IndexError("target")
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    z = z - z.detach().amax(axis, keepdim=True)
    loss = torch.log(torch.exp(z).sum(axis)) - z.gather(axis, torch.where(on, t, 0).unsqueeze(axis)).squeeze(axis)
    loss = loss * on
    if reduction == "mean":
        loss = loss.sum() / on.sum()
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
