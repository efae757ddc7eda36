"""Takes both probabilities exactly, sigmoid(x) and sigmoid(-x), and still adds the epsilon of old toolkits."""

import torch

MISTAKE = "bce_with_logits/eps-in-log"
CONSTANT = 1e-15


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("float logits")
    if logits.shape != target.shape:
        raise ValueError("shapes differ")
    x = logits if logits.dtype == torch.float64 else logits.float()
    t = target.to(x.dtype)
    yes = torch.log(torch.sigmoid(x) + CONSTANT)
    no = torch.log(torch.sigmoid(-x) + CONSTANT)
    loss = -(t * yes + (1 - t) * no)
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    elif reduction != "none":
        raise ValueError(reduction)
    return loss.to(logits.dtype)
