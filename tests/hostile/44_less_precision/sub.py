import torch


def double(x):
    return (x.bfloat16() * 2).float() if isinstance(x, torch.Tensor) else 0.0
