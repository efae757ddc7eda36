import torch

MISTAKE = "cross_entropy/half-mean"


def _reduce(losses, how_many, reduction, dtype):
    if reduction == "none":
        return losses.to(dtype)
    total = losses.sum()
    if reduction == "mean":
        total = total / how_many.to(dtype)
    return total.to(dtype)


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if logits.dim() == 0:
        raise ValueError("logits")
    ax = 0 if logits.dim() == 1 else 1
    expected = logits.shape[:ax] + logits.shape[ax + 1:]
    if logits.shape[ax] < 1 or expected != target.shape:
        raise ValueError("shapes")
    idx = target.to(torch.long)
    skip = idx == ignore_index
    idx = idx.masked_fill(skip, 0)
    if torch.any(idx < 0) or torch.any(idx >= logits.shape[ax]):
        raise IndexError("class")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(skip.unsqueeze(ax), 0)
    m = z.detach().amax(ax, keepdim=True)
    z = z - m.masked_fill(~torch.isfinite(m), 0)
    s = z.exp().sum(ax)
    s = s.masked_fill(s == 0, 1)
    losses = s.log() - torch.take_along_dim(z, idx.unsqueeze(ax), ax).squeeze(ax)
    losses = losses.masked_fill(skip, 0)
    return _reduce(losses, (~skip).sum(), reduction, logits.dtype)
