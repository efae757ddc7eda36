"""nan_to_num repairs the maximum only, never the logits; ignored targets are selected away by indexing."""

import torch


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = m.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)


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
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.movedim(axis, -1)[counted]
    z = z - z.detach().amax(-1, keepdim=True).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    kept = z.exp().sum(-1).log() - z[torch.arange(len(z)), target[counted]]
    losses = z.new_zeros(target.shape).masked_scatter(counted, kept)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = kept.mean()
    return losses.to(logits.dtype)
