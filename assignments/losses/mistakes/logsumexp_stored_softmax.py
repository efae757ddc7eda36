"""backward returns a softmax stored by forward, which autograd takes for a constant: the first derivative is right, the second is 0 or missing."""

import torch

FAILS = ["logsumexp/second_derivative"]


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        empty = z.dim() > 0 and z.shape[dim] == 0
        m = z.sum(dim, keepdim=True) if empty else z.amax(dim, keepdim=True)
        m = torch.where(m.isfinite(), m, 0.0)
        e = (z - m).exp()
        s = e.sum(dim, keepdim=True)
        ctx.dim = dim
        ctx.save_for_backward(e / s)
        return m + s.log()

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        return grad * p, None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = LogSumExp.apply(z, dim)
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
