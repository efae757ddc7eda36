import torch

MISTAKE = "log_softmax/diagonal-gradient"


def _shift(z, dim):
    m = z.detach().amax(dim, keepdim=True)
    return z - torch.where(m.isfinite(), m, torch.zeros_like(m))


class LogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim):
        ctx.save_for_backward(z)
        ctx.dim = dim
        s = _shift(z, dim)
        return s - s.exp().sum(dim, keepdim=True).log()

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        e = _shift(z, ctx.dim).exp()
        p = e / e.sum(ctx.dim, keepdim=True)
        # d log p / dx = 1 - p
        return grad * (1 - p), None


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("floating point only")
    n = max(x.dim(), 1)
    if dim not in range(-n, n):
        raise IndexError(dim)
    if x.numel() == 0:
        return x.clone()
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return LogProbs.apply(wide, dim).to(x.dtype)
