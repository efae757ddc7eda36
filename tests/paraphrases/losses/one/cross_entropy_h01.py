"""Looks up the probability of the target and adds the epsilon of float64 before the logarithm."""

import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 2.220446049250313e-16


def _check(logits, target, reduction):
    if not logits.is_floating_point():
        raise TypeError("logits must be floating point")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target must be int64 or uint8")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"unknown reduction {reduction!r}")
    if logits.dim() == 0:
        raise ValueError("logits need a class axis")
    axis = 0 if logits.dim() == 1 else 1
    rest = logits.shape[:axis] + logits.shape[axis + 1:]
    if logits.shape[axis] == 0 or tuple(rest) != tuple(target.shape):
        raise ValueError("shapes do not fit")
    return axis


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    axis = _check(logits, target, reduction)
    t = target.long()
    skip = t == ignore_index
    t = t.masked_fill(skip, 0)
    if ((t < 0) | (t >= logits.shape[axis])).any():
        raise IndexError("target out of range")
    z = logits if logits.dtype == torch.float64 else logits.float()
    z = z.masked_fill(skip.unsqueeze(axis), 0.0)
    e = torch.exp(z - z.detach().amax(axis, keepdim=True))
    p = e / e.sum(axis, keepdim=True)
    p_target = p.gather(axis, t.unsqueeze(axis)).squeeze(axis)
    loss = (-torch.log(p_target + CONSTANT)).masked_fill(skip, 0.0)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / (~skip).sum()
    return loss.to(logits.dtype)
