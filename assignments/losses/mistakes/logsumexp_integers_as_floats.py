"""Whatever is no floating-point number was made one, and the result is a float32 that nobody asked for."""

import torch

FORM_OF = "integers-accepted"

FAILS = ["logsumexp/errors"]


def logsumexp(x, dim=-1, keepdim=False):
    z = x if x.dtype in (torch.float32, torch.float64) else x.float()
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    y = y if keepdim else y.squeeze(dim)
    return y.to(x.dtype) if x.is_floating_point() else y
