"""Rounds the targets, and lets them have any shape that broadcasts."""

import torch

MISTAKES = ["bce_with_logits/target-rounded", "bce_with_logits/shapes-unchecked"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    label = target.to(x.dtype).round()
    loss = torch.nn.functional.softplus(-x, threshold=45) + (1 - label) * x
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
