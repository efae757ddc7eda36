"""one_hot of the targets as they came, times the log-probabilities."""

import torch
import torch.nn.functional as F

MISTAKES = ["cross_entropy/one-hot-product", "cross_entropy/uint8-targets-refused"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    last = logits.movedim(1, -1) if logits.dim() > 1 else logits
    k = last.shape[-1]
    if k == 0 or last.shape[:-1] != target.shape:
        raise ValueError("shapes")
    away = target == ignore_index
    if (~away & ((target < 0) | (target >= k))).any():
        raise IndexError("target")
    last = last.float() if last.dtype in (torch.float16, torch.bfloat16) else last
    last = last.masked_fill(away.unsqueeze(-1), 0.0)
    last = last - last.detach().amax(-1, keepdim=True)
    logp = last - last.exp().sum(-1, keepdim=True).log()
    choice = F.one_hot(target.masked_fill(away, 0), k)
    loss = -(choice * logp).sum(-1)
    loss = loss.masked_fill(away, 0.0)
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() / ((~away).sum() if reduction == "mean" else 1)).to(logits.dtype)
