"""The shifted logits were detached along with the maximum: the value is right, but the whole gradient goes to the maximum."""

import torch

FAILS = [
    "logsumexp/masked_classes",
    "logsumexp/dtypes",
    "logsumexp/gradient",
    "logsumexp/gradient_of_extremes",
    "logsumexp/second_derivative",
]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).detach().exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
