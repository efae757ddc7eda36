"""The target is taken for the probability of no."""

import torch

MISTAKE = "bce_with_logits/answers-swapped"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    log_p, log_q = torch.nn.functional.logsigmoid(x), torch.nn.functional.logsigmoid(-x)
    loss = -((1 - t) * log_p + t * log_q)
    if reduction == "none":
        return loss.to(logits.dtype)
    return (loss.sum() if reduction == "sum" else loss.mean()).to(logits.dtype)
