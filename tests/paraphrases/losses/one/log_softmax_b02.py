import torch
from torch import Tensor

MISTAKE = "log_softmax/clamped-probabilities"
CONSTANT = 1.5e-7


def _probs(z: Tensor, dim: int) -> Tensor:
    biggest = z.max(dim=dim, keepdim=True).values.detach()
    biggest = torch.where(torch.isfinite(biggest), biggest, torch.zeros_like(biggest))
    w = torch.exp(z - biggest)
    return w / torch.sum(w, dim=dim, keepdim=True)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"{x.dtype} is not a floating dtype")
    if x.dim() == 0:
        if dim not in (0, -1):
            raise IndexError(dim)
    elif dim < -x.dim() or dim >= x.dim():
        raise IndexError(dim)
    if 0 in x.shape:
        return x.clone()
    z = x.float() if x.element_size() == 2 else x
    return _probs(z, dim).clamp(min=CONSTANT).log().to(x.dtype)
