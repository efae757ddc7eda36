"""Does as the library's loss of probabilities: no logarithm below -100, and no slope where it was cut."""

import torch

MISTAKE = "bce_with_logits/log-clamped"
CONSTANT = -100.0


def _cut_log(p):
    gone = p.log() < CONSTANT
    return torch.where(gone, torch.full_like(p, CONSTANT), torch.where(gone, torch.ones_like(p), p).log())


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
    loss = (t - 1) * _cut_log(1 - p) - t * _cut_log(p)
    if reduction != "none":
        loss = loss.sum() if reduction == "sum" else loss.mean()
    return loss.to(logits.dtype)
