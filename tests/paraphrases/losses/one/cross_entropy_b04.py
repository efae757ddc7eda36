import torch
import torch.nn.functional as F

MISTAKE = "cross_entropy/one-hot-product"


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"unknown reduction {reduction!r}")
    if not logits.is_floating_point():
        raise TypeError("floating logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("int64 or uint8 targets")
    if logits.dim() == 0:
        raise ValueError("no class axis")
    z = logits.movedim(1, -1) if logits.dim() > 1 else logits
    C = z.shape[-1]
    if C == 0 or z.shape[:-1] != target.shape:
        raise ValueError("shapes")
    if z.dtype in (torch.float16, torch.bfloat16):
        z = z.float()
    t = target.long()
    ignored = t == ignore_index
    wrong = (t < 0) | (t >= C)
    if (wrong & ~ignored).any():
        raise IndexError("target out of range")
    t = t.masked_fill(ignored, 0)
    z = z.masked_fill(ignored.unsqueeze(-1), 0.0)
    m = z.detach().amax(-1, keepdim=True)
    z = z - m.masked_fill(~m.isfinite(), 0.0)
    s = z.exp().sum(-1, keepdim=True)
    logp = z - s.masked_fill(s == 0, 1.0).log()
    onehot = F.one_hot(t, C).to(logp.dtype)
    loss = -(onehot * logp).sum(-1)
    loss = loss.masked_fill(ignored, 0.0)
    if reduction == "mean":
        loss = loss.sum() / (t.numel() - ignored.sum())
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
