"""float() was called on every input: float64 logits lost half of their digits, and those above 3.4e38 became inf."""

import torch

FAILS = [
    "logsumexp/extreme_logits",
    "logsumexp/many_classes",
    "logsumexp/dtypes",
    "logsumexp/gradient_of_extremes",
    "logsumexp/second_derivative",
]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float()
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
