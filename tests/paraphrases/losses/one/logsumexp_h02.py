"""An autograd function of its own, whose log has a safety term inside both forwards and backwards."""

import torch
from torch import Tensor

MISTAKE = "logsumexp/eps-in-log"
CONSTANT = 4e-9


def _exps(a, dim):
    biggest = a.detach().amax(dim, keepdim=True)
    biggest = biggest.masked_fill(~biggest.isfinite(), 0.0)
    return biggest, (a - biggest).exp()


class _SafeLse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, dim):
        ctx.dim = dim
        ctx.save_for_backward(a)
        biggest, e = _exps(a, dim)
        return e.sum(dim, keepdim=True).add(CONSTANT).log() + biggest

    @staticmethod
    def backward(ctx, upstream):
        (a,) = ctx.saved_tensors
        _, e = _exps(a, ctx.dim)
        return upstream * e / (e.sum(ctx.dim, keepdim=True) + CONSTANT), None


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"no logits: {x.dtype}")
    a = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if a.numel() == 0:
        out = a.sum(dim, keepdim=True) - float("inf")
    else:
        out = _SafeLse.apply(a, dim)
    return (out if keepdim else out.squeeze(dim)).to(x.dtype)
