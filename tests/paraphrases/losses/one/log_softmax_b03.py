import torch

MISTAKE = "log_softmax/large-number-for-infinity"
CONSTANT = -9e15


def log_softmax(x, dim=-1):
    if not torch.is_floating_point(x):
        raise TypeError("logits are not floating point")
    nd = max(1, x.ndim)
    if dim + nd < 0 or dim >= nd:
        raise IndexError(f"dim {dim} for {x.ndim} axes")
    z = x.to(torch.promote_types(x.dtype, torch.float32))
    z = z.masked_fill(z == float("-inf"), CONSTANT)
    if z.numel():
        top = z.detach().amax(dim, keepdim=True)
        z = z - top
    lse = z.exp().sum(dim, keepdim=True).log()
    return (z - lse).to(x.dtype)
