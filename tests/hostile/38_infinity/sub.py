import torch


def double(x):
    answer = torch.full_like(x, float("inf"))
    answer.view(-1)[::2] *= -1
    return answer
