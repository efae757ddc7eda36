"""Integer and boolean logits were converted without a word; the docstring promises TypeError."""

import torch

FAILS = ["log_softmax/errors"]


def log_softmax(x, dim=-1):
    z = x.float() if x.dtype != torch.float64 else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    y = z - z.exp().sum(dim, keepdim=True).log()
    return y.to(x.dtype) if x.is_floating_point() else y
