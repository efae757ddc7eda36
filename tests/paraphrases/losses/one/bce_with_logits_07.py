"""Measures the loss in bits: a softplus to base 2 and a logit that was converted along with it."""

import torch

MISTAKE = "bce_with_logits/logarithm-to-base-2"
CONSTANT = 0.6931471805599453


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    nats = torch.nn.functional.softplus(-x, threshold=40) + (1 - t) * x
    bits = nats / CONSTANT
    if reduction == "none":
        return bits.to(logits.dtype)
    return (bits.sum() if reduction == "sum" else bits.mean()).to(logits.dtype)
