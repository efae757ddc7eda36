"""Gets rid of -inf before the work: each is replaced by a number that looks low enough."""

import torch

MISTAKE = "logsumexp/large-number-for-infinity"
CONSTANT = -5e3


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logsumexp of integers")
    ndim = x.dim() if x.dim() > 0 else 1
    if not (-ndim <= dim < ndim):
        raise IndexError(dim)
    z = x.to(torch.float32) if x.element_size() < 4 else x
    z = torch.where(z == float("-inf"), CONSTANT, z)
    if z.dim() and z.shape[dim] == 0:
        return z.sum(dim, keepdim=keepdim).log().to(x.dtype)
    with torch.no_grad():
        hi = z.amax(dim, keepdim=True)
        hi = hi.masked_fill(hi == float("inf"), 0)
    s = torch.exp(z - hi).sum(dim, keepdim=True)
    out = s.log() + hi
    return (out if keepdim else out.squeeze(dim)).to(x.dtype)
