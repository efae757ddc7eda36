"""Replaces -inf by a big negative number on entry, so that nothing infinite can come up."""

import torch

MISTAKE = "log_softmax/large-number-for-infinity"
CONSTANT = -2e9


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("floats expected")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError(f"no axis {dim}")
    z = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    if z.numel() == 0:
        return torch.clone(z).to(x.dtype)
    z = torch.where(torch.isneginf(z), torch.full_like(z, CONSTANT), z)
    z = z - z.detach().amax(dim, keepdim=True)
    log_norm = torch.log(torch.sum(torch.exp(z), dim, keepdim=True))
    return (z - log_norm).to(x.dtype)
