"""Tidies the losses up with squeeze() before they are returned."""

import torch

MISTAKE = "bce_with_logits/axes-squeezed"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    x, t = x.squeeze(), target.to(x.dtype).squeeze()
    log_p, log_q = torch.nn.functional.logsigmoid(x), torch.nn.functional.logsigmoid(-x)
    loss = -(t * log_p) - (1 - t) * log_q
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
