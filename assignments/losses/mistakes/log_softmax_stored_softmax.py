"""backward uses a softmax stored by forward, which autograd takes for a constant: the first derivative is right, the second is 0 or missing."""

import torch

FAILS = ["log_softmax/second_derivative"]


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        ctx.dim = dim
        s = z
        if z.numel() > 0:
            m = z.amax(dim, keepdim=True)
            s = z - torch.where(m.isfinite(), m, 0.0)
        y = s - s.exp().sum(dim, keepdim=True).log()
        ctx.save_for_backward(y.exp())
        return y

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        return grad - p * grad.sum(ctx.dim, keepdim=True), None


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return LogSoftmax.apply(z, dim).to(x.dtype)
