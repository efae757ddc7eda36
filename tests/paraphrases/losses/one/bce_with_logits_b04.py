import torch

MISTAKE = "bce_with_logits/log-clamped"
CONSTANT = -70.0


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.shape != logits.shape:
        raise ValueError("shape")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    half = logits.dtype in (torch.float16, torch.bfloat16)
    x = logits.float() if half else logits
    y = target.to(x.dtype)
    p = torch.sigmoid(x)
    log_yes = torch.log(p).clamp(min=CONSTANT)
    log_no = torch.log(1 - p).clamp(min=CONSTANT)
    loss = -(y * log_yes + (1 - y) * log_no)
    if reduction == "sum":
        return loss.sum().to(logits.dtype)
    if reduction == "mean":
        return loss.mean().to(logits.dtype)
    return loss.to(logits.dtype)
