import torch

MISTAKE = "log_softmax/eps-in-log"
CONSTANT = 3e-9


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("floats please")
    d = max(x.dim(), 1)
    if not -d <= dim < d:
        raise IndexError("dim")
    if x.numel() == 0:
        return x * 1
    z = x if x.dtype == torch.double else x.float()
    m = z.detach().amax(dim, keepdim=True)
    m = m.masked_fill(~torch.isfinite(m), 0.0)
    e = (z - m).exp()
    p = e / e.sum(dim, keepdim=True)
    return torch.log(p + CONSTANT).to(x.dtype)
