import torch

MISTAKE = "cross_entropy/eps-in-log"
CONSTANT = 1.2e-7


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError("reduction: " + str(reduction))
    if not logits.dtype.is_floating_point:
        raise TypeError("logits")
    if target.dtype != torch.int64 and target.dtype != torch.uint8:
        raise RuntimeError("target dtype")
    if logits.ndim == 0:
        raise ValueError("logits need a class axis")
    # classes to the back, everything else in rows
    table = logits if logits.ndim == 1 else logits.movedim(1, -1)
    if table.shape[:-1] != target.shape or table.shape[-1] == 0:
        raise ValueError("shapes do not belong together")
    C = table.shape[-1]
    rows = table.reshape(target.numel(), C)
    if rows.dtype != torch.float64:
        rows = rows.float()
    y = target.reshape(-1).to(torch.int64)
    valid = y != ignore_index
    if ((y[valid] < 0) | (y[valid] >= C)).any():
        raise IndexError("class number")
    kept = rows[valid]
    shift = kept.detach().max(dim=1, keepdim=True).values
    shift = torch.where(shift.isfinite(), shift, torch.zeros_like(shift))
    w = torch.exp(kept - shift)
    total = w.sum(1, keepdim=True)
    probs = w / torch.where(total == 0, torch.ones_like(total), total)
    logp = torch.log(probs + CONSTANT)
    loss = -logp.gather(1, y[valid].unsqueeze(1)).squeeze(1)
    if reduction == "mean":
        out = loss.sum() / loss.numel()
    elif reduction == "sum":
        out = loss.sum()
    else:
        out = torch.zeros(y.shape, dtype=rows.dtype, device=rows.device)
        out = out.masked_scatter(valid, loss).reshape(target.shape)
    return out.to(logits.dtype)
