"""Takes the maximum over the samples (axis 0) although the slices run along dim."""

import torch

MISTAKE = "log_softmax/maximum-of-the-batch"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    z = x.to(torch.float32) if x.element_size() == 2 else x
    if z.numel() == 0:
        return z.tanh().to(x.dtype)
    z = z - z.detach().max(0, keepdim=True).values
    norm = torch.einsum("...c->...", z.exp().movedim(dim, -1)) if z.dim() else z.exp()
    return (z - (norm.log().unsqueeze(dim) if z.dim() else norm.log())).to(x.dtype)
