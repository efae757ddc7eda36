"""Subtracts whatever maximum a slice has, -inf and +inf too, and never goes back from float32 to the half it got."""

import torch

MISTAKES = ["logsumexp/no-guard", "logsumexp/float32-result"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x must be floating point")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.numel() == 0:
        return z.exp().sum(dim, keepdim=keepdim).log()
    m = z.detach().amax(dim, keepdim=True)
    out = m + (z - m).exp().sum(dim, keepdim=True).log()
    return out if keepdim else out.squeeze(dim)
