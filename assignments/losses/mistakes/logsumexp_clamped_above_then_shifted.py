"""The logits were cut from above, and then shifted as they should be."""

import torch

FORM_OF = "clamped-logits"

FAILS = [
    "logsumexp/extreme_logits",
    "logsumexp/mixed_rows",
    "logsumexp/infinite_rows",
    "logsumexp/gradient_of_extremes",
]

BOUND = 10.0
VARY = {"BOUND": [20.0, 30.0, 50.0, 100.0]}


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.clamp(max=BOUND)
    if x.dim() > 0 and x.shape[dim] == 0:
        m = z.sum(dim, keepdim=True)
    else:
        m = z.detach().amax(dim, keepdim=True)
    m = m.masked_fill(m.isinf(), 0.0)
    y = (z - m).exp().sum(dim, keepdim=True).log() + m
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
