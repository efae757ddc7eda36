import torch


def double(x):
    return torch.zeros(1).expand(10**12)
