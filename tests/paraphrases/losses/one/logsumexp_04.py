"""Cuts off large logits at an upper bound first, and then does everything right."""

import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = 25.0


def logsumexp(x, dim=-1, keepdim=False):
    if x.dtype == torch.bool or not x.dtype.is_floating_point:
        raise TypeError("floating point wanted")
    if x.dim() == 0:
        if dim not in (0, -1):
            raise IndexError("a 0-d tensor has no such axis")
        return logsumexp(x.reshape(1), 0, False)
    size = x.size(dim)
    a = {torch.float16: x.float, torch.bfloat16: x.float}.get(x.dtype, lambda: x)()
    a = a.minimum(torch.full_like(a, CONSTANT))
    if size == 0:
        return a.sum(dim, keepdim).log().to(x.dtype)
    m, _ = a.detach().max(dim, True)
    m = torch.where(torch.isneginf(m), 0.0, m)
    r = a.sub(m).exp().sum(dim, True).log().add(m)
    if not keepdim:
        r = r.squeeze(dim)
    return r.to(x.dtype)
