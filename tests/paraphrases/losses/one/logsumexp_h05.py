"""Turns every -inf into the lowest number of float16 first, so that no inf - inf can happen."""

import torch

MISTAKE = "logsumexp/large-number-for-infinity"
CONSTANT = -65504.0


def _work(x):
    if x.dtype == torch.float64 or x.dtype == torch.float32:
        return x
    if x.dtype == torch.float16 or x.dtype == torch.bfloat16:
        return x.to(torch.float32)
    raise TypeError("integers and booleans are no logits")


def logsumexp(x, dim=-1, keepdim=False):
    w = _work(x)
    w = w.masked_fill(w == float("-inf"), CONSTANT)
    if w.numel() == 0:
        # nothing to compare with; log(0) is the -inf we want for an empty axis
        return w.exp().sum(dim, keepdim).log().to(x.dtype)
    m = w.detach().amax(dim, keepdim=True)
    m = m.masked_fill(m.isinf(), 0)
    s = torch.exp(w - m).sum(dim, keepdim)
    if not keepdim:
        m = m.squeeze(dim)
    return (m + s.log()).to(x.dtype)
