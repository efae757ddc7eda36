"""The shifted logits were detached along with the maximum: the value is right, but all of the softmax in the gradient went to the largest logit."""

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
    m = z.amax(dim, keepdim=True) if x.numel() > 0 else z.sum(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    s = (z - m).detach()
    return (z - m - s.exp().sum(dim, keepdim=True).log()).to(x.dtype)
