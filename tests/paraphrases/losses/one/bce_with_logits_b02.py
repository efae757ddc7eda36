import torch

MISTAKE = "bce_with_logits/large-eps-in-log"
CONSTANT = 0.004


def safe_log(p):
    return (p + CONSTANT).log()


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(reduction)
    if not torch.is_floating_point(logits):
        raise TypeError(logits.dtype)
    if tuple(logits.shape) != tuple(target.shape):
        raise ValueError("shapes differ")
    work = torch.float64 if logits.dtype == torch.float64 else torch.float32
    x, t = logits.to(work), target.to(work)
    p = x.sigmoid()
    losses = -(t * safe_log(p) + (1 - t) * safe_log(1 - p))
    result = {"none": lambda l: l, "sum": torch.sum, "mean": lambda l: l.sum() / l.numel()}
    return result[reduction](losses).to(logits.dtype)
