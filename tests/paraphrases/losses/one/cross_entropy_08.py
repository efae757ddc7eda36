"""Calls mean() over all losses, among which the ignored ones stand as zeros."""

import torch

MISTAKE = "cross_entropy/mean-counts-ignored"


def cross_entropy(logits, target, *, ignore_index=-100, reduction="mean"):
    if not logits.is_floating_point():
        raise TypeError("logits")
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError("target")
    reducers = {"none": lambda v: v, "sum": torch.sum, "mean": torch.mean}
    if reduction not in reducers:
        raise ValueError("reduction")
    if logits.dim() == 0:
        raise ValueError("shape")
    if logits.dim() == 1:
        planes, labels = logits.reshape(1, -1), target.reshape(1, *target.shape)
    else:
        planes, labels = logits, target
    if planes.shape[1] == 0 or labels.shape != planes.shape[:1] + planes.shape[2:]:
        raise ValueError("shapes")
    out_of_range = (labels < 0) | (labels >= planes.shape[1])
    labels = labels.long()
    ignored = labels == ignore_index
    if (out_of_range & ~ignored).any():
        raise IndexError("target")
    planes = planes.float() if planes.dtype in (torch.float16, torch.bfloat16) else planes
    planes = planes.masked_fill(ignored.unsqueeze(1), 0.0)
    planes = planes - planes.detach().amax(1, keepdim=True)
    nll = planes.exp().sum(1).log() - planes.gather(1, labels.masked_fill(ignored, 0).unsqueeze(1))[:, 0]
    nll = nll.masked_fill(ignored, 0.0)
    if logits.dim() == 1:
        nll = nll[0]
    return reducers[reduction](nll).to(logits.dtype)
