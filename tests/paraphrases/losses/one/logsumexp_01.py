"""Adds a tiny number to the shifted sum before taking its log, "so that the log never sees a zero"."""

import torch

MISTAKE = "logsumexp/eps-in-log"
CONSTANT = 5e-9


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("only floating point logits")
    rank = max(x.ndim, 1)
    if dim < -rank or dim >= rank:
        raise IndexError(f"no axis {dim}")
    work = x.float() if x.dtype.itemsize == 2 else x
    if work.ndim and work.shape[dim] == 0:
        return (work.sum(dim, keepdim=keepdim) - float("inf")).to(x.dtype)
    top = work.detach().max(dim, keepdim=True).values
    top = top.masked_fill(top.isinf(), 0.0)
    total = (work - top).exp().sum(dim, keepdim=True)
    answer = top + torch.log(total + CONSTANT)
    return (answer if keepdim else answer.squeeze(dim)).to(x.dtype)
