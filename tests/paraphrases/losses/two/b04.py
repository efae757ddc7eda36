import torch

MISTAKES = ["cross_entropy/eps-in-log", "cross_entropy/minus-100-only"]
CONSTANT = 4e-6


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if logits.dim() == 0:
        raise ValueError("logits")
    axis = 0 if logits.dim() == 1 else 1
    C = logits.shape[axis]
    if C == 0 or target.shape != logits.shape[:axis] + logits.shape[axis + 1:]:
        raise ValueError("shapes")
    t = target.long()
    keep = t != -100
    if (keep & ((t < 0) | (t >= C))).any():
        raise IndexError("target")
    t = t.masked_fill(~keep, 0)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(~keep.unsqueeze(axis), 0)
    m = z.detach().amax(axis, keepdim=True)
    e = (z - m.masked_fill(~m.isfinite(), 0)).exp()
    s = e.sum(axis, keepdim=True)
    p = (e / s.masked_fill(s == 0, 1)).gather(axis, t.unsqueeze(axis)).squeeze(axis)
    loss = -(p + CONSTANT).log()
    loss = loss.masked_fill(~keep, 0)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / keep.sum()
    return loss.to(logits.dtype)
