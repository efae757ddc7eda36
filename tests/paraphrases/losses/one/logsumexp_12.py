"""Everything is guarded but the axis without entries, on which the maximum refuses to work."""

import torch

MISTAKE = "logsumexp/no-empty-guard"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("integers have no logits")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    a = x if x.dtype in (torch.float32, torch.float64) else x.float()
    m = a.max(dim=dim, keepdim=True).values.detach()
    m = torch.nan_to_num(m, nan=float("nan"), posinf=0.0, neginf=0.0)
    s = (a - m).exp().sum(dim=dim, keepdim=True)
    r = torch.log(s) + m
    return r.to(x.dtype) if keepdim else r.squeeze(dim).to(x.dtype)
