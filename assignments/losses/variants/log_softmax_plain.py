"""The formula itself, x - logsumexp(x), without a shift of its own: it loses digits at a large offset."""

import torch

MISSES = ["log_softmax/shift_invariance"]


def lse(z, dim):
    """log-sum-exp along dim, which stays with size 1."""
    m = z.detach().amax(dim, keepdim=True) if z.numel() > 0 else z.sum(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    return m + (z - m).exp().sum(dim, keepdim=True).log()


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return (z - lse(z, dim)).to(x.dtype)
