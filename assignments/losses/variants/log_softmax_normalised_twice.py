"""x - logsumexp(x) is only rounded off by an offset that all entries share; normalising the result again removes it."""

import torch


def lse(z, dim):
    """log-sum-exp along dim, which stays with size 1."""
    m = z.detach().amax(dim, keepdim=True) if z.numel() > 0 else z.sum(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    return m + (z - m).exp().sum(dim, keepdim=True).log()


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = z - lse(z, dim)
    return (y - lse(y, dim)).to(x.dtype)
