"""Sums without keepdim and subtracts the result as it is."""

import torch

MISTAKE = "log_softmax/keepdim-forgotten"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("integers are no logits")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z - z.detach().amax(dim, keepdim=True)
    log_total = torch.log(torch.exp(z).sum(dim))
    return (z - log_total).to(x.dtype)
