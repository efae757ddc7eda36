import torch
import torch.nn.functional as F

MISTAKE = "bce_with_logits/target-as-sign"


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    sign = 2 * target.to(z.dtype) - 1
    loss = -F.logsigmoid(sign * z)
    if reduction == "none":
        return loss.to(logits.dtype)
    loss = loss.sum()
    if reduction == "mean":
        loss = loss / logits.numel()
    return loss.to(logits.dtype)
