"""The part log(1 + exp(x)) was detached, so the gradient is -t alone: nothing ever pushes a logit down."""

import torch
from torch.nn.functional import softplus

FAILS = [
    "bce_with_logits/soft_targets",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
    "bce_with_logits/gradient_at_zero",
    "bce_with_logits/gradient",
    "bce_with_logits/second_derivative",
    "bce_with_logits/dtypes",
    "bce_with_logits/not_a_number",
]


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = softplus(z).detach() - z * t
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
