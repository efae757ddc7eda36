"""log(p + eps) with the eps that somebody once chose for float16."""

import torch

MISTAKE = "bce_with_logits/large-eps-in-log"
CONSTANT = 1e-3


def bce_with_logits(logits, target, *, reduction="mean"):
    if not torch.is_floating_point(logits):
        raise TypeError("logits")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if list(logits.shape) != list(target.shape):
        raise ValueError("shapes")
    z = logits.double() if logits.dtype == torch.float64 else logits.float()
    y = target.type_as(z)
    p = z.sigmoid()
    positive = y * torch.log(CONSTANT + p)
    negative = (1.0 - y) * torch.log(CONSTANT + (1.0 - p))
    value = -positive - negative
    if reduction == "mean":
        value = value.mean()
    elif reduction == "sum":
        value = value.sum()
    return value.to(logits.dtype)
