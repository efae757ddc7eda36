"""The sum was kept one term at a time in half precision: 256 + 1 is 256 in bfloat16 and 2048 + 1 is 2048 in float16, so it stops growing."""

import torch

FAILS = ["log_softmax/half_accumulation"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    e = z.exp()
    total = e.sum(dim, keepdim=True)
    if x.dtype in (torch.float16, torch.bfloat16):
        total = torch.zeros_like(total, dtype=x.dtype)
        for term in e.to(x.dtype).split(1, dim):
            total = total + term
    return (z - total.log()).to(x.dtype)
