"""backward returns sigmoid(x) - t without the gradient that comes from upstream: wrong wherever that is not 1, behind a mean for instance."""

import torch
from torch.nn.functional import softplus

FAILS = ["bce_with_logits/gradient_at_zero", "bce_with_logits/gradient", "bce_with_logits/second_derivative"]


class BinaryLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, t):
        ctx.save_for_backward(z, t)
        return softplus(z) - z * t

    @staticmethod
    def backward(ctx, grad):
        z, t = ctx.saved_tensors
        return z.sigmoid() - t, None


def bce_with_logits(logits, target, *, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.shape != logits.shape:
        raise ValueError("the shapes are not the same")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(z.dtype)
    losses = BinaryLoss.apply(z, t)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.mean()
    return losses.to(logits.dtype)
