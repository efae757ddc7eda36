"""Has a backward of its own that rebuilds the softmax from the finished result: exp(x - result)."""

import torch

MISTAKE = "logsumexp/gradient-from-result"


class _LSE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        if x.shape[dim] == 0:
            out = torch.full_like(x.sum(dim, keepdim=True), -torch.inf)
        else:
            c = x.amax(dim, keepdim=True)
            c = torch.where(c.isinf(), torch.zeros_like(c), c)
            out = torch.exp(x - c).sum(dim, keepdim=True).log_().add_(c)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, upstream):
        x, out = ctx.saved_tensors
        return torch.exp(x - out) * upstream, None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("floating point only")
    scalar = x.dim() == 0
    vec = x.unsqueeze(0) if scalar else x
    if not -vec.dim() <= dim < vec.dim():
        raise IndexError("no such axis")
    if vec.dtype in (torch.float16, torch.bfloat16):
        vec = vec.float()
    res = _LSE.apply(vec, dim)
    if scalar or not keepdim:
        res = res.squeeze(dim)
    return res.to(x.dtype)
