"""log(p) and log(1 - p) of the rounded sigmoid, both cut off from below by clamp."""

import torch

MISTAKE = "bce_with_logits/log-clamped"
CONSTANT = -18.0


def bce_with_logits(logits, target, *, reduction="mean"):
    if logits.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(str(logits.dtype))
    if tuple(target.shape) != tuple(logits.shape):
        raise ValueError(f"{tuple(target.shape)} is not {tuple(logits.shape)}")
    modes = ("none", "sum", "mean")
    if reduction not in modes:
        raise ValueError(f"{reduction} is none of {modes}")
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    prob = torch.sigmoid(logits.to(wide))
    label = target.to(wide)
    log_yes = torch.clamp(torch.log(prob), min=CONSTANT)
    log_no = torch.clamp(torch.log(1.0 - prob), min=CONSTANT)
    loss = -(label * log_yes + (1.0 - label) * log_no)
    return (loss, loss.sum(), loss.mean())[modes.index(reduction)].to(logits.dtype)
