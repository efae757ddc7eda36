"""Has the probabilities of both answers and puts a floor under each before the log."""

import torch

MISTAKE = "bce_with_logits/probability-clamped"
CONSTANT = 3e-9


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    dtype = logits.dtype
    both = torch.stack((logits, -logits), dim=-1).to(torch.promote_types(dtype, torch.float32)).sigmoid()
    weight = target.to(both.dtype)
    weight = torch.stack((weight, 1 - weight), dim=-1)
    loss = torch.einsum("...k,...k->...", weight, -both.clamp(min=CONSTANT).log())
    if reduction == "none":
        return loss.to(dtype)
    if reduction == "sum":
        return loss.sum().to(dtype)
    return loss.mean().to(dtype)
