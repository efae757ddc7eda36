"""A mask of zeros and ones times the losses, divided by the sum of the mask, at least 1."""

import torch

MISTAKES = ["cross_entropy/mask-multiplied", "cross_entropy/divisor-clamped"]


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    ax = 0 if logits.dim() == 1 else 1
    k = logits.shape[ax]
    if k == 0 or target.shape != logits.shape[:ax] + logits.shape[ax + 1:]:
        raise ValueError("shapes")
    t = target.long()
    keep = t.ne(ignore_index)
    if (keep & ((t < 0) | (t >= k))).any():
        raise IndexError("target")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    top = z.detach().max(ax, keepdim=True).values
    logp = z - top - (z - top).exp().sum(ax, keepdim=True).log()
    mask = keep.to(z.dtype)
    loss = -logp.gather(ax, t.where(keep, torch.zeros_like(t)).unsqueeze(ax)).squeeze(ax) * mask
    if reduction == "none":
        return loss.to(logits.dtype)
    if reduction == "mean":
        return (loss.sum() / mask.sum().clamp(min=1.0)).to(logits.dtype)
    return loss.sum().to(logits.dtype)
