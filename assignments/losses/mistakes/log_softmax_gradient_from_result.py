"""backward takes exp of a result that was rounded at the size of x: at 1e38 two equal logits seem to have probability 1 each instead of 0.5."""

import torch

FAILS = ["log_softmax/gradient_of_extremes", "log_softmax/shift_invariance"]


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        ctx.dim = dim
        m = z.amax(dim, keepdim=True) if z.numel() > 0 else z.sum(dim, keepdim=True)
        m = torch.where(m.isfinite(), m, 0.0)
        y = z - (m + (z - m).exp().sum(dim, keepdim=True).log())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad - y.exp() * grad.sum(ctx.dim, keepdim=True), None


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return LogSoftmax.apply(z, dim).to(x.dtype)
