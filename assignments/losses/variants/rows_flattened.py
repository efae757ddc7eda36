"""Every input becomes a table of rows first; the target's logit is found by an index pair."""

import torch


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.dim() == 0:
        return x[...] * 1 if dim in (0, -1) else x.sum(dim)
    n = x.shape[dim]
    moved = z.movedim(dim, -1)
    rows = moved.reshape(moved.shape[:-1].numel(), n)
    if n == 0:
        y = rows.sum(1).log()
    else:
        m = rows.detach().amax(1)
        m = torch.where(m.isfinite(), m, 0.0)
        y = m + (rows - m[:, None]).exp().sum(1).log()
    y = y.reshape(moved.shape[:-1])
    return (y.unsqueeze(dim) if keepdim else y).to(x.dtype)


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
    rows = z.movedim(axis, -1).reshape(-1, classes)
    rows = rows - rows.detach().amax(1, keepdim=True).clamp(min=torch.finfo(z.dtype).min)
    picked = rows[torch.arange(len(rows)), index.reshape(-1)]
    losses = (rows.exp().sum(1).log() - picked).reshape(target.shape)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
