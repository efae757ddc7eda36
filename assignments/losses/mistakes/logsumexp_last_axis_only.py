"""dim was ignored: the last axis was summed away whatever the caller asked for."""

import torch

FAILS = [
    "logsumexp/shapes",
    "logsumexp/empty_slices",
    "logsumexp/mixed_rows",
    "logsumexp/gradient",
    "logsumexp/second_derivative",
    "logsumexp/strides",
    "logsumexp/errors",
]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    dim = -1
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
