"""Converts everything to a float dtype first, integers as well, and takes the log of finished probabilities."""

import torch

MISTAKES = ["log_softmax/log-of-softmax", "log_softmax/integers-accepted"]


def log_softmax(x, dim=-1):
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    back = x.dtype if x.is_floating_point() else work
    z = x.to(work)
    if z.numel() == 0:
        return (z - z.sum(dim, keepdim=True)).to(back)
    weights = (z - z.detach().amax(dim, keepdim=True)).exp()
    share = weights / weights.sum(dim, keepdim=True)
    return share.log().to(back)
