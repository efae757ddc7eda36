"""-inf was replaced by a large negative number: a fully masked slice then gives about that number instead of -inf."""

import torch

FAILS = ["logsumexp/infinite_rows"]

MASKED = -1e9
VARY = {"MASKED": [-1e3, -1e4, -1e30]}


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.masked_fill(z == -torch.inf, MASKED)
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
