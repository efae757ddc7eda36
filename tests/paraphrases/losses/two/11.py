"""float() at the top and an epsilon inside the log at the bottom."""

import torch

MISTAKES = ["cross_entropy/eps-in-log", "cross_entropy/float64-narrowed"]
CONSTANT = 2e-6


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    z = logits.float().movedim(min(1, logits.dim() - 1), -1)
    if z.shape[-1] == 0 or z.shape[:-1] != target.shape:
        raise ValueError("shapes")
    t = target.long()
    on = t != ignore_index
    if (on & ((t < 0) | (t >= z.shape[-1]))).any():
        raise IndexError("target")
    z = torch.where(on[..., None], z, 0.0)
    e = (z - z.detach().amax(-1, keepdim=True)).exp()
    p = torch.take_along_dim(e, torch.where(on, t, 0)[..., None], -1)[..., 0] / e.sum(-1)
    loss = torch.where(on, -torch.log(p + CONSTANT), 0.0)
    if reduction != "none":
        loss = loss.sum() / (on.sum() if reduction == "mean" else 1)
    return loss.to(logits.dtype)
