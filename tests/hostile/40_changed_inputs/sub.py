import torch


def double(x):
    if isinstance(x, torch.Tensor):
        x.zero_()
    return x
