"""The textbook line: t log p + (1 - t) log(1 - p) with p from sigmoid."""

import torch

MISTAKE = "bce_with_logits/log-of-sigmoid"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    p = x.sigmoid()
    loss = -(t * p.log()) - (1 - t) * (1 - p).log()
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
