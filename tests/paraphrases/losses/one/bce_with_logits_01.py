"""sigmoid first, and a tiny number in both logs against log(0)."""

import torch

MISTAKE = "bce_with_logits/eps-in-log"
CONSTANT = 1e-7


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    p = torch.sigmoid(x)
    loss = -(t * torch.log(p + CONSTANT) + (1 - t) * torch.log(1 - p + CONSTANT))
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.mean() if reduction == "mean" else loss.sum()).to(logits.dtype)
