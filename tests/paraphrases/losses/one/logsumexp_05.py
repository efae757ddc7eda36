"""Shifts by the maximum, but then lets no shifted logit be below a bound, "because exp of that is 0 anyway"."""

import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = -10.0


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("no integers please")
    if x.dim() == 0:
        x.reshape(1).size(dim)  # an IndexError for axes that a single number does not have

    def accumulate(values):
        length = values.shape[dim] if values.dim() else 1
        if length == 0:
            return values.sum(dim, keepdim=True) - torch.inf
        biggest = torch.amax(values, dim, keepdim=True).detach()
        biggest = torch.where(torch.isinf(biggest), torch.zeros_like(biggest), biggest)
        shifted = (values - biggest).clamp(min=CONSTANT)
        return biggest + shifted.exp().sum(dim, keepdim=True).log()

    half = x.dtype in (torch.half, torch.bfloat16)
    result = accumulate(x.float()).to(x.dtype) if half else accumulate(x)
    return result if keepdim else result.squeeze(dim)
