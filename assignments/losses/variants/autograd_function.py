"""Both backward passes are written by hand, from the saved logits, so that they can be differentiated again."""

import torch


def shifted(z, dim):
    if z.dim() > 0 and z.shape[dim] == 0:
        return z, z.sum(dim, keepdim=True)
    m = z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    return z - m, m


def softmax_of(z, dim):
    e = shifted(z, dim)[0].exp()
    return e / e.sum(dim, keepdim=True)


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        ctx.dim = dim
        ctx.save_for_backward(z)
        s, m = shifted(z, dim)
        return m + s.exp().sum(dim, keepdim=True).log()

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        return grad * softmax_of(z, ctx.dim), None


class NegativeLogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, index, axis):
        ctx.axis = axis
        ctx.save_for_backward(z, index)
        s, _ = shifted(z, axis)
        return (s.exp().sum(axis, keepdim=True).log() - s.gather(axis, index)).squeeze(axis)

    @staticmethod
    def backward(ctx, grad):
        z, index = ctx.saved_tensors
        one_hot = torch.zeros_like(z).scatter(ctx.axis, index, 1.0)
        return grad.unsqueeze(ctx.axis) * (softmax_of(z, ctx.axis) - one_hot), None, None


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
    losses = NegativeLogLikelihood.apply(z, index, axis)
    losses = torch.where(counted, losses, 0.0)
    if reduction == "sum":
        losses = losses.sum()
    elif reduction == "mean":
        losses = losses.sum() / counted.sum()
    return losses.to(logits.dtype)
