import torch

MISTAKE = "log_softmax/normalised-over-the-batch"


def log_softmax(x, dim=-1):
    if x.is_complex() or not x.is_floating_point():
        raise TypeError("floating point only")
    n = max(x.dim(), 1)
    if not -n <= dim <= n - 1:
        raise IndexError(dim)
    if x.numel() == 0:
        return x.clone()
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    peak = z.detach().amax(0, keepdim=True)
    peak = peak.masked_fill(~peak.isfinite(), 0)
    z = z - peak
    return (z - z.exp().sum(0, keepdim=True).log()).to(x.dtype)
