"""The sum was kept one term at a time in half precision: 256 + 1 is 256 in bfloat16 and 2048 + 1 is 2048 in float16, so it stops growing."""

import torch

FAILS = ["logsumexp/half_accumulation"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    e = (z - m).exp()
    if x.dtype in (torch.float16, torch.bfloat16):
        total = torch.zeros_like(m, dtype=x.dtype)
        for term in e.to(x.dtype).split(1, dim):
            total = total + term
    else:
        total = e.sum(dim, keepdim=True)
    y = m + total.log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
