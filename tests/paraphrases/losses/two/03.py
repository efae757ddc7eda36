"""A custom backward that hands out the softmax of the forward as it is."""

import torch

MISTAKES = ["logsumexp/stored-softmax", "logsumexp/upstream-forgotten"]


class _Lse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        c = x.amax(dim, keepdim=True)
        c = torch.where(c.isinf(), torch.zeros_like(c), c)
        e = torch.exp(x - c)
        s = e.sum(dim, keepdim=True)
        ctx.kept = e / s
        return s.log() + c

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.kept, None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if z.dim() and z.shape[dim] == 0:
        return z.sum(dim, keepdim=keepdim).log().to(x.dtype)
    out = _Lse.apply(z, dim)
    return (out if keepdim else out.squeeze(dim)).to(x.dtype)
