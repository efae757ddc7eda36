"""Normalises by einsum over rows; the log at the end gets an epsilon so that it cannot see a 0."""

import torch

MISTAKE = "log_softmax/eps-in-log"
CONSTANT = 1e-10


def log_softmax(x, dim=-1):
    if not x.dtype.is_floating_point:
        raise TypeError(x.dtype)
    if x.dim() == 0:
        if dim not in (0, -1):
            raise IndexError(dim)
        return log_softmax(x.unsqueeze(0), 0).squeeze(0)
    x.size(dim)
    out_dtype = x.dtype
    x = x.to(torch.promote_types(out_dtype, torch.float32))
    if 0 in x.shape:
        return (x * 1.0).to(out_dtype)
    cols = x.movedim(dim, -1)
    m = cols.detach().max(-1).values
    m = torch.where(m.isinf(), 0 * m.new_ones(()), m)
    w = (cols - m.unsqueeze(-1)).exp()
    inv = w.sum(-1).reciprocal()
    p = torch.einsum("...c,...->...c", w, inv)
    return p.add(CONSTANT).log().movedim(-1, dim).to(out_dtype)
