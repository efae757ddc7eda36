"""Only ever saw ordinary rows: neither an infinite maximum nor an axis without entries was thought of."""

import torch

MISTAKES = ["logsumexp/no-guard", "logsumexp/no-empty-guard"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    c = z.detach().amax(dim, keepdim=True)
    out = c + torch.log(torch.exp(z - c).sum(dim, keepdim=True))
    return (out if keepdim else out.squeeze(dim)).to(x.dtype)
