"""Small probabilities are lifted to a lower bound, with where instead of clamp, and then the logarithm is taken."""

import torch

MISTAKE = "log_softmax/clamped-probabilities"
CONSTANT = 2.5e-14


def log_softmax(x, dim=-1):
    if x.dtype == torch.bool or not x.is_floating_point():
        raise TypeError
    dt = x.dtype
    x = x.to(torch.float64 if dt == torch.float64 else torch.float32)
    n = 1 if x.ndim == 0 else x.shape[dim]
    if n == 0 or x.numel() == 0:
        return (x + x.sum(dim, keepdim=True)).to(dt)
    m = x.amax(dim, keepdim=True).detach()
    p = torch.exp(x - m)
    p = p / p.sum(dim, keepdim=True)
    p = torch.where(p < CONSTANT, torch.full_like(p, CONSTANT), p)
    return p.log().to(dt)
