"""Normalises every class over the samples of the batch."""

import torch

MISTAKE = "cross_entropy/over-the-batch"


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
    skip = t == ignore_index
    if (~skip & ((t < 0) | (t >= k))).any():
        raise IndexError("target")
    a = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    a = a.masked_fill(skip.unsqueeze(ax), -torch.inf)
    if len(a):
        top = a.detach().amax(0, keepdim=True)
        a = a - top.masked_fill(top.isinf(), 0.0)
    column = a.exp().sum(0, keepdim=True)
    a = a - torch.where(column == 0, torch.ones_like(column), column).log()
    loss = -a.gather(ax, t.masked_fill(skip, 0).unsqueeze(ax)).squeeze(ax)
    loss = loss.masked_fill(skip, 0.0)
    if reduction == "none":
        return loss.to(logits.dtype)
    loss = loss.sum()
    return (loss / (~skip).sum() if reduction == "mean" else loss).to(logits.dtype)
