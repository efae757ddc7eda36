"""view needs neighbours in a row to be neighbours in memory, and after movedim they are not: it raises; reshape copies, reductions along dim need neither."""

import torch

FAILS = ["log_softmax/shapes"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.dim() == 0 or x.numel() == 0:
        return z.sum(dim, keepdim=True) * 0 + x
    moved = z.movedim(dim, -1)
    rows = moved.view(-1, moved.shape[-1])
    m = rows.detach().amax(1, keepdim=True)
    rows = rows - torch.where(m.isfinite(), m, 0.0)
    y = rows - rows.exp().sum(1, keepdim=True).log()
    return y.view(moved.shape).movedim(-1, dim).to(x.dtype)
