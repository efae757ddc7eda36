import math

import torch

MISTAKE = "log_softmax/other-base"
CONSTANT = 2


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if x.dim() > 0:
        x.size(dim)  # IndexError
    elif dim != 0 and dim != -1:
        raise IndexError("dim")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.numel() == 0:
        return x + 0
    m = z.amax(dim, keepdim=True).detach()
    m = torch.where(m.isfinite(), m, torch.zeros((), dtype=m.dtype, device=m.device))
    c = z - m
    ln = c - torch.log(torch.exp(c).sum(dim, keepdim=True))
    return (ln / math.log(CONSTANT)).to(x.dtype)
