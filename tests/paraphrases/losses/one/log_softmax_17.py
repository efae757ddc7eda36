"""The maximum carries the gradient and the shifted copy in the sum does not."""

import torch

MISTAKE = "log_softmax/detached-shift"


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("integers are no logits")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    m = z.max(dim, keepdim=True).values
    below = z.detach() - m.detach()
    return ((z - m) - below.exp().sum(dim, keepdim=True).log()).to(x.dtype)
