"""The sum keeps its axis while the maximum that is added afterwards has lost it."""

import torch

MISTAKE = "logsumexp/keepdim-forgotten"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("need floats")
    span = max(x.dim(), 1)
    if not -span <= dim < span:
        raise IndexError(f"{dim} not in [-{span}, {span})")
    z = x if x.element_size() > 2 else x.float()
    if z.dim() and z.shape[dim] == 0:
        maxi = z.detach().sum(dim)
    else:
        maxi = z.detach().amax(dim)
    maxi = torch.where(maxi.isinf(), torch.zeros_like(maxi), maxi)
    shifted = z - (maxi.unsqueeze(dim) if z.dim() else maxi)
    sums = shifted.exp().sum(dim, keepdim=True)
    lse = sums.log() + maxi
    if not keepdim and lse.dim() == x.dim():
        lse = lse.squeeze(dim)
    return lse.to(x.dtype)
