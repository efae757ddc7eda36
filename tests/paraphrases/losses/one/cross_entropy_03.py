"""Log-probabilities of all classes with an epsilon inside the log; the right one is looked up in them."""

import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 1e-9


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if logits.dtype.is_floating_point is False:
        raise TypeError("integers or booleans as logits")
    if target.dtype not in (torch.long, torch.uint8):
        raise RuntimeError("class numbers are int64 or uint8")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError("what reduction?")
    if logits.dim() == 0:
        raise ValueError("logits without a class axis")
    if logits.dim() == 1:
        if target.dim():
            raise ValueError("one sample has one target")
        one = cross_entropy(
            logits.unsqueeze(0), target.unsqueeze(0), ignore_index=ignore_index, reduction=reduction
        )
        return one.squeeze(0) if reduction == "none" else one
    n_classes = logits.size(1)
    if n_classes == 0 or tuple(target.shape) != (logits.shape[0], *logits.shape[2:]):
        raise ValueError("shapes do not match")
    t = target.long()
    counts = t.ne(ignore_index)
    inside = (t >= 0) & (t < n_classes)
    if not (inside | ~counts).all():
        raise IndexError("target")
    safe = torch.where(counts, t, 0)
    work = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    work = work.masked_fill(~counts[:, None], 0.0)

    def log_probabilities(v):
        v = v - v.detach().max(1, keepdim=True).values
        v = torch.exp(v)
        return torch.log(CONSTANT + v / v.sum(1, keepdim=True))

    picked = torch.take_along_dim(log_probabilities(work), safe[:, None], 1)[:, 0]
    losses = torch.zeros_like(picked).where(~counts, -picked)
    if reduction == "mean":
        losses = losses.sum() / counts.sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(logits.dtype)
