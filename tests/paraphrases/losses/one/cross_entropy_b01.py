import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 2e-5


def _check(logits, target, reduction):
    if reduction not in {"none", "sum", "mean"}:
        raise ValueError(reduction)
    if not logits.is_floating_point():
        raise TypeError(logits.dtype)
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError(target.dtype)
    if logits.dim() < 1:
        raise ValueError("no class axis")
    axis = min(logits.dim() - 1, 1)
    shape = list(logits.shape)
    classes = shape.pop(axis)
    if classes == 0 or list(target.shape) != shape:
        raise ValueError("shapes")
    return axis, classes


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    axis, classes = _check(logits, target, reduction)
    y = target.long()
    ignored = y == ignore_index
    y = y.masked_fill(ignored, 0)
    if y.numel() and (y.min() < 0 or y.max() >= classes):
        raise IndexError("class out of range")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = z.masked_fill(ignored.unsqueeze(axis), 0)
    m = z.detach().amax(axis, keepdim=True)
    e = (z - m.masked_fill(~m.isfinite(), 0)).exp()
    s = e.sum(axis)
    right = e.gather(axis, y.unsqueeze(axis)).squeeze(axis) / s.masked_fill(s == 0, 1)
    losses = -torch.log(right + CONSTANT)
    losses = losses.masked_fill(ignored, 0)
    if reduction == "sum":
        losses = losses.sum()
    if reduction == "mean":
        losses = losses.sum() / (~ignored).sum()
    return losses.to(logits.dtype)
