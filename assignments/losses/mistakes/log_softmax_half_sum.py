"""The exponentials were summed in half precision: 70 000 ones are more than float16 can hold (65504), so every result is -inf."""

import torch

FAILS = ["log_softmax/half_accumulation"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return z - z.exp().sum(dim, keepdim=True).log()
