"""Masked classes get a very low logit instead of -inf; the rest of the function is in order."""

import torch

MISTAKE = "log_softmax/large-number-for-infinity"
CONSTANT = -33333.0


def log_softmax(x, dim=-1):
    if not x.dtype.is_floating_point:
        raise TypeError("expected floating point logits, got %s" % x.dtype)
    z = x.float() if x.dtype.itemsize < 4 else x
    z = torch.where(torch.isneginf(z), CONSTANT, z)
    if z.numel() > 0:
        z = z - z.detach().amax(dim, keepdim=True)
    denominator = z.exp().sum(dim, keepdim=True).log()
    return (z - denominator).to(x.dtype)
