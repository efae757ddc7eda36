"""relu and abs in the stable formula, and a mean that is a sum."""

import torch

MISTAKES = ["bce_with_logits/relu-kink", "bce_with_logits/mean-not-divided"]


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    loss = torch.log1p(torch.exp(-abs(x))) - (t * x - x.relu())
    if reduction == "none":
        return loss.to(logits.dtype)
    if reduction in ("mean", "sum"):
        return loss.sum().to(logits.dtype)
    raise ValueError("reduction")
