"""Makes room for ignored targets by writing class 0 over them, and divides by at least 1 to have no nan."""

import torch

MISTAKES = ["cross_entropy/target-overwritten", "cross_entropy/divisor-clamped"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("no float logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("no int64 or uint8 target")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("no reduction of that name")
    if logits.dim() == 0:
        raise ValueError("no axis for the classes")
    k = min(1, logits.dim() - 1)
    if logits.shape[k] == 0 or tuple(target.shape) != tuple(logits.shape[:k]) + tuple(logits.shape[k + 1:]):
        raise ValueError("no matching shapes")
    target = target.to(torch.int64)
    used = target != ignore_index
    target[~used] = 0
    if not torch.all((target >= 0) & (target < logits.shape[k])):
        raise IndexError("no such class")
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    x = torch.where(used.unsqueeze(k), x, 0.0)
    x = x - x.detach().amax(k, keepdim=True)
    loss = x.exp().sum(k).log() - x.gather(k, target.unsqueeze(k)).squeeze(k)
    loss = torch.where(used, loss, 0.0)
    if reduction == "none":
        return loss.to(logits.dtype)
    divisor = used.sum().clamp(min=1) if reduction == "mean" else 1
    return (loss.sum() / divisor).to(logits.dtype)
