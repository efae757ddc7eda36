"""backward returns softmax without the gradient that comes from upstream: right only where that gradient is 1."""

import torch

FAILS = [
    "logsumexp/masked_classes",
    "logsumexp/gradient",
    "logsumexp/gradient_of_extremes",
    "logsumexp/second_derivative",
]


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        empty = z.dim() > 0 and z.shape[dim] == 0
        m = z.sum(dim, keepdim=True) if empty else z.amax(dim, keepdim=True)
        m = torch.where(m.isfinite(), m, 0.0)
        e = (z - m).exp()
        s = e.sum(dim, keepdim=True)
        ctx.dim = dim
        ctx.save_for_backward(z)
        return m + s.log()

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        e = (z - z.detach().amax(ctx.dim, keepdim=True)).exp()
        return e / e.sum(ctx.dim, keepdim=True), None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = LogSumExp.apply(z, dim)
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction is none, sum or mean")
    if not logits.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("targets are class numbers")
    axis = 0 if logits.dim() == 1 else 1
    classes = logits.shape[axis]
    if classes == 0 or target.shape != logits.shape[:axis] + logits.shape[axis + 1 :]:
        raise ValueError("the shapes do not belong together")
    target = target.long()
    counted = target != ignore_index
    if (counted & ((target < 0) | (target >= classes))).any():
        raise IndexError("no such class")
    index = torch.where(counted, target, 0).unsqueeze(axis)
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    z = torch.where(counted.unsqueeze(axis), z, 0.0)
    m = z.detach().amax(axis, keepdim=True)
    z = z - torch.where(m.isfinite(), m, 0.0)
    losses = z.exp().sum(axis).log() - z.gather(axis, index).squeeze(axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
