"""Uses log2 and the number of bits: every result is in bits and not in nats."""

import torch

MISTAKE = "log_softmax/other-base"
CONSTANT = 1.4426950408889634


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if x.dim() == 0 and dim in (-1, 0):
        return (x - x) * 1
    length = x.shape[dim]
    b = x.to(torch.promote_types(torch.float32, x.dtype))
    if length == 0 or b.numel() == 0:
        return (b * 2).to(x.dtype)
    b = b - b.detach().max(dim, keepdim=True).values
    total = torch.exp(b).sum(dim, keepdim=True)
    bits = CONSTANT * b - torch.log2(total)
    return bits.to(x.dtype)
