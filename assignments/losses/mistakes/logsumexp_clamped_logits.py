"""Clamping the logits changes the function: all logits beyond the bound become equal, and their gradient becomes 0."""

import torch

FAILS = [
    "logsumexp/extreme_logits",
    "logsumexp/mixed_rows",
    "logsumexp/masked_classes",
    "logsumexp/infinite_rows",
    "logsumexp/gradient_of_extremes",
    "logsumexp/inputs_untouched",
]

BOUND = 10.0
VARY = {"BOUND": [20.0, 30.0, 50.0, 100.0]}


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.clamp(-BOUND, BOUND)
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
