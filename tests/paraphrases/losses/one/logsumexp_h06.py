"""keepdim reaches the sum but never the maximum that is added back to it."""

import torch
from torch import Tensor

MISTAKE = "logsumexp/keepdim-forgotten"


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    if not x.is_floating_point():
        raise TypeError("x must hold floating point numbers")
    dtype = x.dtype
    if dtype.itemsize == 2:
        x = x.float()
    if x.numel() == 0:
        return x.exp().sum(dim, keepdim=keepdim).log().to(dtype)
    peak = x.detach().amax(dim)
    peak = peak.where(peak.isfinite(), 0.0)
    lifted = x - peak.unsqueeze(dim)
    rest = lifted.exp().sum(dim, keepdim=keepdim).log()
    return (peak + rest).to(dtype)
