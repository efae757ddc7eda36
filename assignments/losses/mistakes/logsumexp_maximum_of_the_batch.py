"""The maximum was taken along axis 0 whatever dim is, so the shift belongs to the column and not to the slice that is summed."""

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


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(0, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
