"""Writes down the formula as it stands in the book: log of the sum of exp, no shift at all."""

import torch

MISTAKE = "logsumexp/no-shift"


def logsumexp(x, dim=-1, keepdim=False):
    if not torch.is_floating_point(x):
        raise TypeError(f"cannot take {x.dtype}")
    if x.ndim == 0:
        if dim < -1 or dim > 0:
            raise IndexError(dim)
        dim = ()
    work = x.to(torch.float32) if x.dtype.itemsize < 4 else x
    return work.exp().sum(dim, keepdim=keepdim).log().to(x.dtype)
