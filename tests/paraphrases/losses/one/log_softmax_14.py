"""Its backward knows only d log p_i / d x_i = 1 - p_i and multiplies that with the upstream gradient."""

import torch

MISTAKE = "log_softmax/diagonal-gradient"


class _LogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        shifted = x - x.amax(dim, keepdim=True)
        out = shifted - shifted.exp().sum(dim, keepdim=True).log()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, upstream):
        (out,) = ctx.saved_tensors
        return upstream * (1.0 - out.exp()), None


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("need floating point")
    if not -max(x.dim(), 1) <= dim < max(x.dim(), 1):
        raise IndexError("dim")
    if x.numel() == 0:
        return x.clone()
    if x.dtype in (torch.float16, torch.bfloat16):
        return _LogProbs.apply(x.float(), dim).to(x.dtype)
    return _LogProbs.apply(x, dim)
