"""The maximum was subtracted with its gradient, which goes to the largest logit."""

import torch

FORM_OF = "maximum-for-logsumexp"

FAILS = [
    "log_softmax/small_values",
    "log_softmax/shapes",
    "log_softmax/extreme_logits",
    "log_softmax/mixed_rows",
    "log_softmax/masked_classes",
    "log_softmax/dtypes",
    "log_softmax/half_accumulation",
    "log_softmax/gradient",
    "log_softmax/gradient_of_extremes",
    "log_softmax/second_derivative",
    "log_softmax/inputs_untouched",
    "log_softmax/errors",
    "log_softmax/shift_invariance",
]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() == 0:
        z.sum(dim)
        return z.clone().to(x.dtype)
    return (z - z.amax(dim, keepdim=True)).to(x.dtype)
