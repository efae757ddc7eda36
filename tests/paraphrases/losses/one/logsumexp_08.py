"""At the end no result may be -inf: it is swapped for a low finite number."""

import torch

MISTAKE = "logsumexp/large-number-for-infinity"
CONSTANT = -12345.0


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floats")
    if x.dim() == 0 and dim not in (0, -1):
        raise IndexError("dim out of range")
    if x.dim() and not -x.dim() <= dim < x.dim():
        raise IndexError("dim out of range")
    v = x.double() if x.dtype == torch.float64 else x.float()
    if v.dim() and v.shape[dim] == 0:
        shift = v.detach().sum(dim, keepdim=True)
    else:
        shift = v.detach().amax(dim=dim, keepdim=True)
    shift = torch.where(shift.isinf(), 0 * torch.ones_like(shift), shift)
    lse = torch.log(torch.sum(torch.exp(v - shift), dim, keepdim=True)) + shift
    lse = torch.where(torch.isneginf(lse), torch.full_like(lse, CONSTANT), lse)
    if not keepdim:
        lse = torch.squeeze(lse, dim)
    return lse.type(x.dtype)
