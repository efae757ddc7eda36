import torch

MISTAKES = ["bce_with_logits/probability-clamped", "bce_with_logits/mean-over-rows"]
CONSTANT = 2e-6


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.shape != logits.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    p = torch.clamp(torch.sigmoid(x), CONSTANT, 1 - CONSTANT)
    loss = -(t * p.log() + (1 - t) * (1 - p).log())
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        rows = logits.shape[0] if logits.dim() else 1
        loss = loss.sum() / rows
    return loss.to(logits.dtype)
