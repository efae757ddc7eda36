import torch

MISTAKES = ["logsumexp/large-number-for-infinity", "logsumexp/float32-result"]
CONSTANT = -30000.0


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("floating point only")
    n = max(x.dim(), 1)
    if dim < -n or dim >= n:
        raise IndexError(dim)
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.masked_fill(z == float("-inf"), CONSTANT)
    if x.dim() and x.shape[dim] == 0:
        return z.sum(dim, keepdim=keepdim).log()
    m = z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, torch.zeros_like(m))
    out = m + (z - m).exp().sum(dim, keepdim=True).log()
    return out if keepdim or x.dim() == 0 else out.squeeze(dim)
