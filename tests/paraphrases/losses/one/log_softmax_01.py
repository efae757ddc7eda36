"""Makes the probabilities and takes the log of each of them plus something tiny."""

import torch

MISTAKE = "log_softmax/eps-in-log"
CONSTANT = 2e-7


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("log_softmax of integers")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError(dim)
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.numel() == 0:
        return z.exp().to(x.dtype)
    top = z.detach().amax(dim, keepdim=True)
    e = torch.exp(z - top.masked_fill(top.isinf(), 0.0))
    probs = e / e.sum(dim, keepdim=True)
    return torch.log(probs + CONSTANT).to(x.dtype)
