"""Finds the maximum of the whole tensor once and shifts every slice by it."""

import torch

MISTAKE = "logsumexp/one-maximum-for-all"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("floating dtypes only")
    if x.dim() == 0 and dim not in (0, -1):
        raise IndexError("dim")
    work = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    top = work.new_zeros(())
    if work.numel():
        top = work.detach().max()
    if torch.isinf(top):
        top = torch.zeros_like(top)
    dims = () if x.dim() == 0 else dim
    parts = torch.exp(work - top).sum(dims, keepdim=keepdim)
    return (top + torch.log(parts)).to(x.dtype)
