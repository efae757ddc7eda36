"""One pass over blocks of 1000 with a running maximum and a rescaled running sum."""

import torch


def streamed(z, dim, block=1000):
    """log-sum-exp along dim, which stays with size 1."""
    if z.dim() == 0:
        return z
    total = z.narrow(dim, 0, 0).sum(dim, keepdim=True)
    largest = torch.full_like(total, -torch.inf)
    for part in z.split(block, dim) if z.shape[dim] else ():
        new = torch.maximum(largest, part.detach().amax(dim, keepdim=True))
        shift = torch.where(new.isfinite(), new, 0.0)
        old = torch.where(largest.isfinite(), largest, shift)
        total = total * (old - shift).exp() + (part - shift).exp().sum(dim, keepdim=True)
        largest = new
    return torch.where(largest.isfinite(), largest, 0.0) + total.log()


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = streamed(z, dim)
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
    index = torch.where(counted, target, 0).unsqueeze(axis)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(counted.unsqueeze(axis), z, 0.0)
    m = z.detach().amax(axis, keepdim=True)
    z = z - torch.where(m.isfinite(), m, 0.0)
    losses = (streamed(z, axis, 2) - z.gather(axis, index)).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
