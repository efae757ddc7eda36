"""The shifted sum is never below 1, so its log needs no eps; what is added to it shows in float64, and turns the -inf of a slice of only -inf into a finite number."""

import torch

FAILS = [
    "logsumexp/small_values",
    "logsumexp/shapes",
    "logsumexp/empty_slices",
    "logsumexp/extreme_logits",
    "logsumexp/mixed_rows",
    "logsumexp/masked_classes",
    "logsumexp/infinite_rows",
    "logsumexp/many_classes",
    "logsumexp/dtypes",
    "logsumexp/half_accumulation",
    "logsumexp/gradient",
    "logsumexp/gradient_of_extremes",
    "logsumexp/second_derivative",
    "logsumexp/inputs_untouched",
    "logsumexp/strides",
    "logsumexp/errors",
]

EPS = 1e-3
VARY = {"EPS": [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12]}


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + ((z - m).exp().sum(dim, keepdim=True) + EPS).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
