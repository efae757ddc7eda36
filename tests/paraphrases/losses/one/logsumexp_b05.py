import torch

MISTAKE = "logsumexp/no-guard"


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("need floats")
    wide = torch.promote_types(x.dtype, torch.float32)
    z = x.to(wide).unsqueeze(0) if x.dim() == 0 else x.to(wide)
    if dim not in range(-z.dim(), z.dim()):
        raise IndexError("dim")
    if z.shape[dim] == 0:
        r = z.exp().sum(dim, keepdim=True).log()
    else:
        biggest, _ = z.detach().max(dim=dim, keepdim=True)
        r = biggest + (z - biggest).exp().sum(dim, keepdim=True).log()
    if x.dim() == 0:
        return r.reshape(()).to(x.dtype)
    return (r if keepdim else r.squeeze(dim)).to(x.dtype)
