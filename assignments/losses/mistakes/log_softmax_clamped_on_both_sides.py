"""The probabilities were kept away from 0 and from 1."""

import torch

FORM_OF = "clamped-probabilities"

FAILS = [
    "log_softmax/shapes",
    "log_softmax/extreme_logits",
    "log_softmax/masked_classes",
    "log_softmax/half_accumulation",
    "log_softmax/gradient_of_extremes",
    "log_softmax/shift_invariance",
]

FLOOR = 1e-4
VARY = {"FLOOR": [1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 1e-16]}


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    p = z.exp() / z.exp().sum(dim, keepdim=True)
    return p.clamp(FLOOR, 1 - FLOOR).log().to(x.dtype)
