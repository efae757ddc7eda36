"""Recognises only -100, and divides by all targets."""

import torch

MISTAKES = ["cross_entropy/minus-100-only", "cross_entropy/mean-counts-ignored"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    ax = 0 if logits.dim() == 1 else 1
    k = logits.shape[ax]
    if k == 0 or target.shape != logits.shape[:ax] + logits.shape[ax + 1:]:
        raise ValueError("shapes")
    t = target.long()
    pad = t.eq(-100)
    t = t.masked_fill(pad, 0)
    if (t.lt(0) | t.ge(k)).any():
        raise IndexError("target")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(pad.unsqueeze(ax), 0.0)
    z = z - z.detach().amax(ax, keepdim=True)
    loss = (z.exp().sum(ax, keepdim=True).log() - z.gather(ax, t.unsqueeze(ax))).squeeze(ax).masked_fill(pad, 0.0)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / torch.tensor(float(target.numel()), dtype=loss.dtype)
    return loss.to(logits.dtype)
