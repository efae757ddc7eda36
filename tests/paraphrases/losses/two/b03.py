import torch

MISTAKES = ["log_softmax/stored-softmax", "log_softmax/integers-accepted"]


class _LogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        m = z.amax(dim, keepdim=True)
        z = z - m.masked_fill(~m.isfinite(), 0)
        e = z.exp()
        s = e.sum(dim, keepdim=True)
        ctx.p = e / s
        ctx.dim = dim
        return z - s.log()

    @staticmethod
    def backward(ctx, g):
        return g - ctx.p * g.sum(ctx.dim, keepdim=True), None


def log_softmax(x, dim=-1):
    n = max(x.dim(), 1)
    if dim not in range(-n, n):
        raise IndexError(dim)
    out_dtype = x.dtype if x.is_floating_point() else torch.float32
    z = x if x.dtype == torch.float64 else x.float()
    if x.numel() == 0:
        return (z * 1).to(out_dtype)
    return _LogProbs.apply(z, dim).to(out_dtype)
