"""Masked logits are lifted to a finite floor right at the beginning."""

import torch

MISTAKE = "log_softmax/large-number-for-infinity"
CONSTANT = -7777.0


def log_softmax(x, dim=-1):
    if x.dtype not in {torch.float16, torch.bfloat16, torch.float32, torch.float64}:
        raise TypeError("dtype of x")
    if x.dim() == 0:
        x.view(1).size(dim)
        return x - x
    x.size(dim)
    if x.numel() == 0:
        return x.clone()

    def body(v):
        v = v.masked_fill(v == -torch.inf, CONSTANT).transpose(dim, 0)
        head = v.detach().max(0).values
        v = v - head
        return (v - v.exp().sum(0).log()).transpose(dim, 0)

    return body(x.float()).to(x.dtype) if x.dtype.itemsize == 2 else body(x)
