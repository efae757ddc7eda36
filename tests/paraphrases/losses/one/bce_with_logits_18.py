"""The stable formula with relu for max(x, 0) and abs for |x|."""

import torch

MISTAKE = "bce_with_logits/relu-kink"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    loss = torch.relu(x).sub(t.mul(x)).add(x.abs().neg().exp().log1p())
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
