"""Keeps the logits within bounds in which exp is harmless; no maximum is needed any more, the student thinks."""

import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = 16.25


def logsumexp(x, dim=-1, keepdim=False):
    def tame(v):
        v = v.minimum(v.new_tensor(CONSTANT))
        return v.maximum(v.new_tensor(-CONSTANT))

    if not x.is_floating_point():
        raise TypeError("logsumexp needs floating point")
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    powers = torch.exp(tame(x.to(wide)))
    return powers.sum(dim=dim, keepdim=keepdim).log().to(x.dtype)
