"""Fills masked entries with a number far below everything and never thinks of -inf again."""

import torch

MISTAKE = "logsumexp/large-number-for-infinity"
CONSTANT = -1e30


def _half(dtype):
    return dtype is torch.float16 or dtype is torch.bfloat16


def logsumexp(x, dim=-1, keepdim=False):
    if not x.dtype.is_floating_point:
        raise TypeError(x.dtype)
    if x.dim() == 0:
        x = x[None]
        if dim not in (-1, 0):
            raise IndexError(dim)
        return logsumexp(x, 0, keepdim)[0] if keepdim else logsumexp(x, 0)
    count = x.shape[dim]
    dtype = x.dtype
    if _half(dtype):
        x = x.float()
    if count == 0:
        return torch.log(x.exp().sum(dim, keepdim=keepdim)).to(dtype)
    x = x.masked_fill(torch.isneginf(x), CONSTANT)
    pivot = x.detach().sort(dim=dim, descending=True).values.narrow(dim, 0, 1)
    pivot = torch.where(torch.isposinf(pivot), torch.zeros_like(pivot), pivot)
    value = (x - pivot).exp().sum(dim, keepdim=True).log() + pivot
    return value.to(dtype) if keepdim else value.squeeze(dim).to(dtype)
