"""Smooths the target's probability with a summand that float16 can still hold, and only then takes the logarithm."""

import torch
from torch import Tensor

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 6e-5


def cross_entropy(
    logits: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    if not logits.dtype.is_floating_point:
        raise TypeError("cross_entropy takes floats")
    if target.dtype != torch.int64 and target.dtype != torch.uint8:
        raise RuntimeError("cross_entropy takes class numbers")
    if logits.ndim == 0:
        raise ValueError("no class axis")
    single = logits.ndim == 1
    z = (logits.unsqueeze(0) if single else logits).movedim(1, -1)
    y = (target.unsqueeze(0) if single else target).to(torch.int64)
    if (single and target.ndim != 0) or y.shape != z.shape[:-1] or z.shape[-1] == 0:
        raise ValueError("shapes")
    c = z.shape[-1]
    counted = y != ignore_index
    z, y = z[counted], y[counted]  # (K, C) and (K)
    if y.numel() and (int(y.min()) < 0 or int(y.max()) >= c):
        raise IndexError("class number")
    if z.dtype in (torch.float16, torch.bfloat16):
        z = z.float()
    e = (z - z.detach().amax(-1, keepdim=True)).exp()
    own = e[torch.arange(len(y), device=y.device), y] / e.sum(-1)
    each = 0 - (own + CONSTANT).log()
    match reduction:
        case "none":
            out = torch.zeros(counted.shape, dtype=z.dtype, device=z.device)
            out = out.masked_scatter(counted, each)
            out = out[0] if single else out
        case "sum":
            out = each.sum()
        case "mean":
            out = each.mean() if len(y) else each.sum() / 0
        case _:
            raise ValueError(reduction)
    return out.to(logits.dtype)
