import torch

MISTAKE = "bce_with_logits/where-over-overflow"


def _elementwise(x, t):
    positive = x - t * x + torch.log1p(torch.exp(-x))
    negative = torch.log1p(torch.exp(x)) - t * x
    return torch.where(x >= 0, positive, negative)


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    wide = torch.promote_types(logits.dtype, torch.float32)
    loss = _elementwise(logits.to(wide), target.to(wide))
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
