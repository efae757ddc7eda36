import torch
from torch.nn.functional import logsigmoid

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 37.0


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("floating point logits")
    if reduction not in ("none", "sum", "mean") or logits.shape != target.shape:
        raise ValueError("reduction or shapes")
    x = logits.float() if logits.dtype.itemsize == 2 else logits
    t = target.to(x.dtype)
    x = torch.clamp(x, -CONSTANT, CONSTANT)
    out = -(t * logsigmoid(x)) - (1 - t) * logsigmoid(-x)
    if reduction != "none":
        n = out.numel()
        out = out.sum()
        if reduction == "mean":
            out = out / n
    return out.to(logits.dtype)
