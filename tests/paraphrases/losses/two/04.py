"""float() on every input, which lets integers in and takes half of the digits from doubles."""

import torch

MISTAKES = ["logsumexp/float64-narrowed", "logsumexp/integers-accepted"]


def logsumexp(x, dim=-1, keepdim=False):
    rank = max(x.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError("dim")
    kind = x.dtype if x.is_floating_point() else torch.float32
    y = x.float()
    shape = y.detach().sum(dim, keepdim=True)
    top = shape if y.numel() == 0 else y.detach().amax(dim, keepdim=True)
    top = top.masked_fill(top.isinf(), 0.0)
    out = (y - top).exp().sum(dim, keepdim=True).log() + top
    return out.to(kind) if keepdim else out.squeeze(dim).to(kind)
