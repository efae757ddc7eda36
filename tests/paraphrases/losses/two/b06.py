import torch

MISTAKES = ["bce_with_logits/clamp-kink", "bce_with_logits/shapes-unchecked"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    loss = x.clamp(min=0) - t * x + torch.log1p(torch.exp(-x.abs()))
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.mean()
    return loss.to(logits.dtype)
