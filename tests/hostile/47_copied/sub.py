import torch
import torch._refs


def lse(x):
    return torch._refs.logsumexp(x, 1)
