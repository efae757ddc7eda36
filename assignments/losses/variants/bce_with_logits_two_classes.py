"""No is a class with logit 0: log-softmax over the two, with their own maximum subtracted."""

import torch


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    pair = torch.stack([torch.zeros_like(z), z])
    pair = pair - pair.detach().amax(0)
    no, yes = pair - pair.exp().sum(0).log()
    losses = -(t * yes + (1 - t) * no)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
