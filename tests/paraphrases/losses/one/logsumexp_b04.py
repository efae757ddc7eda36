import torch

MISTAKE = "logsumexp/squeezes-every-axis"


def _safe_max(v, dim):
    m = v.detach().amax(dim=dim, keepdim=True)
    return m.masked_fill(m.isinf() | m.isnan(), 0)


def logsumexp(x, dim=-1, keepdim=False):
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError("logits must be floating point")
    axes = max(x.ndim, 1)
    if dim < -axes or dim > axes - 1:
        raise IndexError("dim")
    v = x
    if x.dtype in (torch.float16, torch.bfloat16):
        v = x.float()
    if x.ndim and x.size(dim) == 0:
        return v.sum(dim, keepdim=keepdim).log().to(x.dtype)
    m = _safe_max(v, dim)
    res = m + torch.log(torch.sum(torch.exp(v - m), dim=dim, keepdim=True))
    if keepdim is False:
        res = res.squeeze()
    return res.to(x.dtype)
