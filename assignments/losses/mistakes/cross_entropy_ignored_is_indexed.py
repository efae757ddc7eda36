"""-100 reached gather as a class number; ignored targets must be masked before anything is looked up."""

import torch

FAILS = [
    "cross_entropy/ignore_index",
    "cross_entropy/ignored_garbage",
    "cross_entropy/nothing_counted",
    "cross_entropy/inputs_untouched",
]


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
    index = target.unsqueeze(axis)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(counted.unsqueeze(axis), z, 0.0)
    m = z.detach().amax(axis, keepdim=True)
    z = z - torch.where(m.isfinite(), m, 0.0)
    losses = z.exp().sum(axis).log() - z.gather(axis, index).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
