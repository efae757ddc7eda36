"""Every input becomes a table of rows first, and is put back into its shape at the end."""

import torch


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.dim() == 0 or x.numel() == 0:
        return (z - z.exp().sum(dim, keepdim=True).log()).to(x.dtype)
    moved = z.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    rows = rows - rows.detach().amax(1, keepdim=True).clamp(min=torch.finfo(z.dtype).min)
    rows = rows - rows.exp().sum(1).log()[:, None]
    return rows.reshape(moved.shape).movedim(-1, dim).to(x.dtype)
