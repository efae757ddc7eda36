"""view(-1) for a uniform shape, and a mean that divides by at least 1."""

import torch

MISTAKES = ["bce_with_logits/flattened-by-view", "bce_with_logits/empty-mean-is-zero"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x, t = logits.view(-1), target.view(-1)
    x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    t = t.to(x.dtype)
    loss = -(t * torch.nn.functional.logsigmoid(x) + (1 - t) * torch.nn.functional.logsigmoid(-x))
    if reduction == "none":
        return loss.to(logits.dtype).view(logits.shape)
    loss = loss.sum()
    if reduction == "mean":
        loss = loss / torch.tensor(logits.numel()).clamp(min=1)
    return loss.to(logits.dtype)
