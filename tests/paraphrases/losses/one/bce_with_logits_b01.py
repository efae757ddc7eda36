import torch

MISTAKE = "bce_with_logits/eps-in-log"
CONSTANT = 5e-9


def bce_with_logits(logits, target, *, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if logits.shape != target.shape:
        raise ValueError("shapes")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError("reduction")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    t = target.to(x.dtype)
    yes = torch.sigmoid(x)
    no = torch.sigmoid(-x)
    loss = -t * torch.log(yes + CONSTANT) - (1 - t) * torch.log(no + CONSTANT)
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    return loss.to(logits.dtype)
