"""cross_entropy looks its targets up in the file's own log_softmax."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.dim() > 0 and x.shape[dim] == 0:
        return (z * 1.0).to(x.dtype)
    top = z.detach().amax(dim, keepdim=True)
    z = z - top.masked_fill(top.isinf(), 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("targets are class numbers")
    axis = min(logits.dim() - 1, 1)
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if logits.shape[axis] == 0 or target.shape != logits.shape[:axis] + logits.shape[axis + 1 :]:
        raise ValueError("the shapes do not belong together")
    target = target.long()
    counted = target != ignore_index
    if ((target < 0) | (target >= logits.shape[axis]))[counted].any():
        raise IndexError("no such class")
    wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    wide = wide.masked_fill(~counted.unsqueeze(axis), 0.0)
    losses = -log_softmax(wide, axis).gather(axis, target.masked_fill(~counted, 0).unsqueeze(axis)).squeeze(axis)
    losses = losses.masked_fill(~counted, 0.0)
    if reduction != "none":
        losses = losses.sum()
    if reduction == "mean":
        losses = losses / counted.sum()
    return losses.to(logits.dtype)
