import math

import torch

MISTAKE = "logsumexp/one-maximum-for-all"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logsumexp of " + str(x.dtype))
    nd = x.dim() if x.dim() > 0 else 1
    if dim < -nd or dim >= nd:
        raise IndexError(dim)
    z = x.float() if x.dtype in {torch.half, torch.bfloat16} else x
    shift = 0.0
    if z.numel() > 0:
        shift = z.detach().max().item()
        if not math.isfinite(shift):
            shift = 0.0
    s = torch.exp(z - shift).sum(dim=dim, keepdim=keepdim)
    return (torch.log(s) + shift).to(x.dtype)
