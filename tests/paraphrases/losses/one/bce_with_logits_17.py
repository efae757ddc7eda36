"""The stable formula with max(x, 0) as a product of x and the test x >= 0."""

import torch

MISTAKE = "bce_with_logits/clamp-kink"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    tail = torch.log1p(torch.exp(-torch.abs(x)))
    loss = tail + torch.where(x >= 0, x, torch.zeros_like(x)) - x * t
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
