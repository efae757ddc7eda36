"""-inf was replaced by a large negative number before the work: what is masked comes out finite, and a loss that should be inf looks ordinary."""

import torch

FAILS = ["log_softmax/masked_classes"]

MASKED = -1e9
VARY = {"MASKED": [-1e3, -1e4, -1e30]}


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.masked_fill(z == -torch.inf, MASKED)
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
