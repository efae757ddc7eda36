"""Shifts inside exp only, and subtracts the log of that sum from logits that were never shifted."""

import torch

MISTAKE = "log_softmax/maximum-not-added-back"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if x.dim() == 0:
        if dim not in (0, -1):
            raise IndexError("dim")
        return log_softmax(x[None], 0)[0]
    x.size(dim)
    t = x.double() if x.dtype == torch.float64 else x.float()
    if t.numel() == 0:
        return t.sinh().to(x.dtype)
    lead = t.detach().amax(dim)
    mass = (t - lead.unsqueeze(dim)).exp().sum(dim)
    return (t - mass.log().unsqueeze(dim)).to(x.dtype)
