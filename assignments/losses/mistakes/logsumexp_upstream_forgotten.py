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
