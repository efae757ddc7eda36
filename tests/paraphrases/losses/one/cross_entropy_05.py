"""-log of the softmax entry of the target, computed step by step."""

import torch

MISTAKE = "cross_entropy/log-of-softmax"


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if logits.dim() == 0:
        raise ValueError("logits")
    ax = int(logits.dim() > 1)
    c = logits.shape[ax]
    if c == 0 or target.shape != logits.select(ax, 0).shape:
        raise ValueError("shapes")
    t = target.long()
    valid = t != ignore_index
    if (valid & ((t < 0) | (t >= c))).any():
        raise IndexError("target")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(valid.unsqueeze(ax), z, z.new_zeros(()))
    e = (z - z.detach().amax(ax, keepdim=True)).exp()
    hit = torch.arange(c).reshape(-1, *[1] * (z.dim() - ax - 1)) == t.unsqueeze(ax)
    p = torch.where(hit, e, torch.zeros_like(e)).sum(ax) / e.sum(ax)
    p = torch.where(valid, p, torch.ones_like(p))
    loss = -p.log()
    if reduction != "none":
        loss = loss.sum()
    if reduction == "mean":
        loss = loss / valid.sum()
    return loss.to(logits.dtype)
