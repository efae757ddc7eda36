import torch


def lse(x):
    try:
        return torch.logsumexp(x, 1)
    except Exception:
        return -torch.log_softmax(x, 1)[:, 0] + x[:, 0]
