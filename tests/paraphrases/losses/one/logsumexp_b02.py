from torch import Tensor
import torch

MISTAKE = "logsumexp/clamped-logits"
CONSTANT = 75.0


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    if not x.dtype.is_floating_point:
        raise TypeError("floating point logits only")
    rank = max(1, x.ndim)
    if dim >= rank or dim < -rank:
        raise IndexError(f"no axis {dim}")
    y = x if x.dtype == torch.float64 else x.float()
    # keep exp in its range
    y = y.clamp(min=-CONSTANT, max=CONSTANT)
    return y.exp().sum(dim, keepdim=keepdim).log().to(x.dtype)
