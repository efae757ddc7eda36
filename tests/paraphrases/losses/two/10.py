"""Log of the softmax, and a mean over everything, the ignored zeros included."""

import torch

MISTAKES = ["cross_entropy/log-of-softmax", "cross_entropy/mean-counts-ignored"]


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
    off = t == ignore_index
    if (~off & ((t < 0) | (t >= k))).any():
        raise IndexError("target")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(off.unsqueeze(ax), 0.0)
    e = torch.exp(z - z.detach().amax(ax, keepdim=True))
    p = e.gather(ax, t.masked_fill(off, 0).unsqueeze(ax)).squeeze(ax) / e.sum(ax)
    loss = p.log().neg().masked_fill(off, 0.0)
    return {"none": lambda: loss, "sum": loss.sum, "mean": loss.mean}[reduction]().to(logits.dtype)
