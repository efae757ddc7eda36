import torch

MISTAKES = ["cross_entropy/uint8-targets-refused", "cross_entropy/target-overwritten"]


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
    ignored = target == ignore_index
    if (~ignored & ((target < 0) | (target >= C))).any():
        raise IndexError("target")
    if ignored.any():
        target[ignored] = 0
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(ignored.unsqueeze(axis), 0)
    m = z.detach().amax(axis, keepdim=True)
    z = z - m.masked_fill(~m.isfinite(), 0)
    s = z.exp().sum(axis)
    loss = s.masked_fill(s == 0, 1).log() - z.gather(axis, target.unsqueeze(axis)).squeeze(axis)
    loss = loss.masked_fill(ignored, 0)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / (~ignored).sum()
    return loss.to(logits.dtype)
