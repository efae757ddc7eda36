"""The backward pass is written by hand, from the saved logits, so that it can be differentiated again."""

import torch


class BinaryLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, t):
        ctx.save_for_backward(z, t)
        return z.clamp(min=0) - z * t + (-z.abs()).exp().log1p()

    @staticmethod
    def backward(ctx, grad):
        z, t = ctx.saved_tensors
        return grad * (z.sigmoid() - t), None


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
