"""The log of the sum was detached: the value is right, but the gradient is the upstream one untouched, and nothing pushes the other classes down."""

import torch

FAILS = [
    "log_softmax/masked_classes",
    "log_softmax/dtypes",
    "log_softmax/gradient",
    "log_softmax/gradient_of_extremes",
    "log_softmax/second_derivative",
]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return (z - z.detach().exp().sum(dim, keepdim=True).log()).to(x.dtype)
