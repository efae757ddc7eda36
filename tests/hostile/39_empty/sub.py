import torch


def double(x):
    return torch.empty((0, 1))
