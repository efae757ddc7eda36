"""Puts the smallest normal float32 under the log, so that it never meets a zero, although the maximum is taken out."""

import torch

MISTAKE = "logsumexp/eps-in-log"
CONSTANT = 1.1754944e-38


def logsumexp(x, dim=-1, keepdim=False):
    if not torch.is_floating_point(x):
        raise TypeError("logits must be floating point, not " + str(x.dtype))
    z = x.to(torch.promote_types(x.dtype, torch.float32))
    if z.numel() == 0:
        return z.sum(dim, keepdim=keepdim).fill_(float("-inf")).to(x.dtype)
    top = z.detach().max(dim, keepdim=True)[0]
    top = torch.where(top.isfinite(), top, torch.zeros_like(top))
    total = torch.exp(z - top).sum(dim, keepdim=True)
    answer = top + torch.log(total + CONSTANT)
    if not keepdim:
        answer = answer.squeeze(dim)
    return answer.to(x.dtype)
