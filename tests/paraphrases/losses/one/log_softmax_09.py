"""Computes stable probabilities first and their logarithm afterwards."""

import torch

MISTAKE = "log_softmax/log-of-softmax"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    v = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if v.numel() == 0:
        return v.abs().to(x.dtype)
    crest = torch.amax(v, dim, True).detach()
    unnormalised = torch.exp(v - crest)
    partition = unnormalised.sum(dim, True)
    return torch.log(unnormalised * (1 / partition)).to(x.dtype)
