"""Multiplies log-probabilities with a one-hot table (einsum) to pick one of them."""

import torch

MISTAKE = "cross_entropy/one-hot-product"


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    if reduction not in ("none", "sum", "mean") or logits.dim() == 0:
        raise ValueError("reduction or shape")
    z = logits.movedim(1, -1) if logits.dim() > 1 else logits
    k = z.shape[-1]
    if k == 0 or z.shape[:-1] != target.shape:
        raise ValueError("shapes")
    t = target.long()
    out = t == ignore_index
    if (~out & ((t < 0) | (t >= k))).any():
        raise IndexError("target")
    z = z.float() if z.dtype in (torch.float16, torch.bfloat16) else z
    z = z.masked_fill(out.unsqueeze(-1), 0.0)
    z = z - z.detach().amax(-1, keepdim=True)
    logp = z - z.exp().sum(-1, keepdim=True).log()
    table = (t.unsqueeze(-1) == torch.arange(k)).to(logp.dtype)
    loss = torch.einsum("...c,...c->...", table, -logp).masked_fill(out, 0.0)
    if reduction == "mean":
        loss = loss.sum() / (~out).sum()
    if reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
