"""Integer and boolean logits were converted without a word; the docstring promises TypeError."""

import torch

FAILS = ["logsumexp/errors"]


def logsumexp(x, dim=-1, keepdim=False):
    z = x.float() if x.dtype != torch.float64 else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
