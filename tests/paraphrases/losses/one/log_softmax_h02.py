"""Brings the axis to the end, normalises there and takes the logarithm of p plus the epsilon of float32."""

import torch
from torch import Tensor

MISTAKE = "log_softmax/eps-in-log"
CONSTANT = 1.1920929e-07


def _normalise(rows: Tensor) -> Tensor:
    highest = rows.detach().max(-1, keepdim=True).values
    e = (rows - highest).exp()
    return torch.mul(e, e.sum(-1, keepdim=True).reciprocal())


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"logits of {x.dtype}")
    turned = x.transpose(dim, -1)  # IndexError if there is no such axis; nothing happens to a 0-d tensor
    if x.numel() == 0:
        return turned.clone().transpose(dim, -1)
    wide = turned.double() if x.dtype == torch.float64 else turned.float()
    return torch.log(CONSTANT + _normalise(wide)).to(x.dtype).transpose(dim, -1)
