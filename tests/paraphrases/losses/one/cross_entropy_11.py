"""Refuses classes that are too large and leaves small ones to indexing, which counts from the end."""

import torch

MISTAKE = "cross_entropy/negative-class-wraps"


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
    rows = logits.movedim(ax, -1).reshape(-1, k)
    t = target.reshape(-1).long()
    live = t != ignore_index
    if (t[live] >= k).any():
        raise IndexError("there is no such class")
    wide = rows.float() if rows.dtype in (torch.float16, torch.bfloat16) else rows
    wide = torch.where(live[:, None], wide, torch.zeros_like(wide))
    wide = wide - wide.detach().amax(1, keepdim=True)
    chosen = wide[torch.arange(len(t)), torch.where(live, t, torch.zeros_like(t))]
    loss = torch.where(live, wide.exp().sum(1).log() - chosen, 0.0)
    if reduction == "none":
        return loss.reshape(target.shape).to(logits.dtype)
    if reduction == "sum":
        return loss.sum().to(logits.dtype)
    return (loss.sum() / live.sum()).to(logits.dtype)
