"""Flattens the targets with view and zeroes the ignored ones in that view, which is the caller's memory."""

import torch

MISTAKES = ["cross_entropy/target-overwritten", "cross_entropy/target-viewed"]


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
    flat = target.view(-1).long()
    lost = flat == ignore_index
    if ((flat < 0) | (flat >= k))[~lost].any():
        raise IndexError("target")
    if lost.any():
        flat[lost] = 0
    rows = logits.movedim(ax, -1).reshape(-1, k)
    rows = rows.float() if rows.dtype in (torch.float16, torch.bfloat16) else rows
    rows = rows.masked_fill(lost[:, None], 0.0)
    rows = rows - rows.detach().amax(1, keepdim=True)
    loss = torch.log(rows.exp().sum(1)) - rows.gather(1, flat[:, None])[:, 0]
    loss = loss.masked_fill(lost, 0.0)
    if reduction == "none":
        return loss.reshape(target.shape).to(logits.dtype)
    return (loss.sum() / ((~lost).sum() if reduction == "mean" else 1)).to(logits.dtype)
