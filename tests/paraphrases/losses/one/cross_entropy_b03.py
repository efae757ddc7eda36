import torch

MISTAKE = "cross_entropy/mask-multiplied"


def _log_probs(z, axis):
    m = z.detach().amax(axis, keepdim=True)
    m = torch.where(m.isfinite(), m, torch.zeros_like(m))
    z = z - m
    s = z.exp().sum(axis, keepdim=True)
    return z - torch.where(s == 0, torch.ones_like(s), s).log()


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if logits.dim() == 0:
        raise ValueError("logits")
    axis = 1 if logits.dim() > 1 else 0
    if logits.size(axis) == 0:
        raise ValueError("no classes")
    if tuple(target.shape) != tuple(logits.shape[:axis]) + tuple(logits.shape[axis + 1:]):
        raise ValueError("shapes")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(torch.int64)
    counts = t.ne(ignore_index)
    if (counts & (t.lt(0) | t.ge(logits.size(axis)))).any():
        raise IndexError("target")
    safe = torch.where(counts, t, torch.zeros_like(t))
    weight = counts.to(z.dtype)
    loss = -_log_probs(z, axis).gather(axis, safe.unsqueeze(axis)).squeeze(axis) * weight
    if reduction == "none":
        return loss.to(logits.dtype)
    if reduction == "sum":
        return loss.sum().to(logits.dtype)
    return (loss.sum() / weight.sum()).to(logits.dtype)
