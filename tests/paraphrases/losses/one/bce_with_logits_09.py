"""log(1 + exp(x)) - t x, made safe by keeping x within bounds (minimum and maximum)."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 18.5


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.shape != logits.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    wide = torch.promote_types(logits.dtype, torch.float32)
    bound = torch.tensor(CONSTANT, dtype=wide)
    x = torch.maximum(torch.minimum(logits.to(wide), bound), -bound)
    loss = torch.log1p(torch.exp(x)) - target.to(wide) * x
    if reduction == "mean":
        loss = loss.sum() / loss.numel() if loss.numel() > 0 else loss.sum() * torch.nan
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
