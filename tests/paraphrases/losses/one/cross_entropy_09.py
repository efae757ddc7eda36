"""Divides the sum by numel() of the counting logits: targets times classes."""

import torch

MISTAKE = "cross_entropy/mean-over-classes-too"


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
    used = t != ignore_index
    if torch.any((t[used] < 0) | (t[used] >= k)):
        raise IndexError("target")
    rows = rows[used]
    rows = rows.float() if rows.dtype in (torch.float16, torch.bfloat16) else rows
    rows = rows - rows.detach().amax(1, keepdim=True)
    cost = rows.exp().sum(1).log() - rows[torch.arange(rows.shape[0]), t[used]]
    if reduction == "none":
        full = cost.new_zeros(t.shape).masked_scatter(used, cost)
        return full.reshape(target.shape).to(logits.dtype)
    result = cost.sum()
    if reduction == "mean":
        result = result / rows.numel() if rows.numel() else result + torch.nan
    return result.to(logits.dtype)
