"""Looks for -100 among the targets and does not read ignore_index at all."""

import torch

MISTAKE = "cross_entropy/minus-100-only"


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
    wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    labels = target.long().unsqueeze(ax)
    padding = labels == -100
    wrong = (labels < 0) | (labels >= k)
    if (wrong & ~padding).any():
        raise IndexError("target")
    wide = torch.where(padding, 0.0, wide)
    wide = wide - wide.detach().amax(ax, keepdim=True)
    loss = wide.exp().sum(ax, keepdim=True).log() - wide.gather(ax, labels.masked_fill(padding, 0))
    loss = loss.masked_fill(padding, 0.0).squeeze(ax)
    if reduction == "none":
        return loss.to(logits.dtype)
    loss = loss.sum()
    if reduction == "mean":
        loss = loss / (padding.numel() - padding.sum())
    return loss.to(logits.dtype)
