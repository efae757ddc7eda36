"""Limits the logits to where a float64 sigmoid is not yet 1, and goes on with the stable formula."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 36.7


def _softplus(v):
    zero = torch.zeros_like(v)
    return torch.maximum(v, zero) + torch.log1p(torch.exp(-v.abs()))


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits must be floats")
    if target.shape != logits.shape:
        raise ValueError("one target for each logit")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    x = x.clip(-CONSTANT, CONSTANT)
    t = target.to(x.dtype)
    loss = _softplus(x) - t * x
    if reduction == "sum":
        return loss.sum().to(logits.dtype)
    if reduction == "mean":
        return loss.mean().to(logits.dtype)
    if reduction == "none":
        return loss.to(logits.dtype)
    raise ValueError("reduction")
