import torch

MISTAKE = "logsumexp/gradient-from-result"


class _LSE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        if x.dim() and x.shape[dim] == 0:
            out = x.exp().sum(dim, keepdim=True).log()
        else:
            m = x.amax(dim, keepdim=True)
            m = torch.where(m.abs() < float("inf"), m, 0.0)
            out = (x - m).exp().sum(dim, keepdim=True).log() + m
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        return g * torch.exp(x - out), None


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError(x.dtype)
    n = x.dim() or 1
    if not (-n <= dim < n):
        raise IndexError(dim)
    out = _LSE.apply(x.float() if x.dtype.itemsize == 2 else x, dim)
    if x.dim() and not keepdim:
        out = out.squeeze(dim)
    return out.to(x.dtype)
