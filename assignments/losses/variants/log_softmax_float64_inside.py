"""Everything is computed in float64 and narrowed at the end."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.double()
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
