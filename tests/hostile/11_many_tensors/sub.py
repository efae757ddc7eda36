import torch


def double(x):
    answer = [torch.zeros(()) for _ in range(25_000)]
    answer.append(answer)
    return answer
