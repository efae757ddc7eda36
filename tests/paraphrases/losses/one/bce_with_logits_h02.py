"""Keeps log p and log(1 - p) away from log 0 with the smallest positive float16 as a summand."""

import torch
from torch import Tensor

MISTAKE = "bce_with_logits/eps-in-log"
CONSTANT = 5.9604645e-08


def _safe_log(p: Tensor) -> Tensor:
    return p.add(CONSTANT).log()


def bce_with_logits(logits: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"reduction {reduction}")
    if not logits.dtype.is_floating_point:
        raise TypeError("logits")
    if target.shape != logits.shape:
        raise ValueError("target")
    work = torch.promote_types(logits.dtype, torch.float32)
    p, t = logits.to(work).sigmoid(), target.to(work)
    loss = torch.lerp(_safe_log(1 - p), _safe_log(p), t).neg()
    if reduction != "none":
        loss = getattr(loss, reduction)()
    return loss.to(logits.dtype)
