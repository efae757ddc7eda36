import torch


def double(x):
    return torch.full_like(x, float("nan")) if isinstance(x, torch.Tensor) else float("nan")
