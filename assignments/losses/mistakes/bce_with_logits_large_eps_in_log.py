"""The number added inside the log is so large that it spoils even the loss of hesitant answers, by more than any rounding, besides capping that of the sure ones."""

import torch

FAILS = [
    "bce_with_logits/small_values",
    "bce_with_logits/soft_targets",
    "bce_with_logits/reductions",
    "bce_with_logits/shapes",
    "bce_with_logits/empty",
    "bce_with_logits/confident_mistakes",
    "bce_with_logits/extreme_logits",
    "bce_with_logits/gradient_at_zero",
    "bce_with_logits/gradient",
    "bce_with_logits/second_derivative",
    "bce_with_logits/dtypes",
    "bce_with_logits/half_batch",
    "bce_with_logits/not_a_number",
    "bce_with_logits/inputs_untouched",
    "bce_with_logits/strides",
    "bce_with_logits/errors",
]

EPS = 3e-2
VARY = {"EPS": [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]}


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    p = z.sigmoid()
    losses = -(t * (p + EPS).log() + (1 - t) * (1 - p + EPS).log())
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
