"""The backward subtracts a softmax that is stored, and not multiplied with the sum from upstream."""

import torch

MISTAKES = ["log_softmax/stored-softmax", "log_softmax/upstream-not-summed"]


class _Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        z = x - x.max(dim, keepdim=True).values
        total = z.exp().sum(dim, keepdim=True)
        ctx.save_for_backward(z.exp() / total)
        return z - total.log()

    @staticmethod
    def backward(ctx, up):
        (p,) = ctx.saved_tensors
        return up - p, None


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return _Node.apply(z, dim).to(x.dtype)
