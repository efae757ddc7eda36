"""Gets the probability back from log-sum-exp, exp(z_y - lse), only to take -log(p + eps) of it."""

import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 7e-8


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not torch.is_floating_point(logits):
        raise TypeError(str(logits.dtype))
    if str(target.dtype) not in ("torch.int64", "torch.uint8"):
        raise RuntimeError(str(target.dtype))
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction)
    shape = list(logits.shape)
    try:
        n_classes = shape.pop(1 if len(shape) > 1 else 0)
    except IndexError:
        raise ValueError("0-d logits") from None
    if n_classes < 1 or shape != list(target.shape):
        raise ValueError("shape")
    ax = 1 if logits.dim() > 1 else 0
    idx = target.to(torch.int64)
    dead = idx.eq(ignore_index)
    if torch.logical_and(~dead, torch.logical_or(idx < 0, idx > n_classes - 1)).any().item():
        raise IndexError("target out of range")
    z = (logits.float() if logits.element_size() == 2 else logits).masked_fill(dead.unsqueeze(ax), 0)
    z = z - z.detach().amax(ax, keepdim=True)
    own = torch.gather(z, ax, idx.masked_fill(dead, 0).unsqueeze(ax))
    lse = z.exp().sum(ax, keepdim=True).log()
    loss = torch.exp(own - lse).add(CONSTANT).log().mul(-1).squeeze(ax)
    loss = loss.masked_fill(dead, 0)
    out = {"none": lambda: loss, "sum": loss.sum, "mean": lambda: loss.sum() / dead.logical_not().sum()}[reduction]()
    return out.to(logits.dtype)
