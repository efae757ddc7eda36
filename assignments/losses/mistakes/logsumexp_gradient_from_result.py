"""backward computes exp(x - result), and at 1e38 the result has no digits left for log n: two equal logits get a gradient of 1 each instead of 0.5."""

import torch

FAILS = ["logsumexp/gradient_of_extremes"]


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        empty = z.dim() > 0 and z.shape[dim] == 0
        m = z.sum(dim, keepdim=True) if empty else z.amax(dim, keepdim=True)
        m = torch.where(m.isfinite(), m, 0.0)
        e = (z - m).exp()
        s = e.sum(dim, keepdim=True)
        ctx.dim = dim
        y = m + s.log()
        ctx.save_for_backward(z, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        z, y = ctx.saved_tensors
        return grad * (z - y).exp(), None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = LogSumExp.apply(z, dim)
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
