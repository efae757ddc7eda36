"""The maximum by .max(dim).values instead of amax, with a where around the infinite ones."""

import torch


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    wide = x.to(torch.float32) if x.element_size() == 2 else x
    if wide.dim() > 0 and wide.shape[dim] == 0:
        return wide.sum(dim, keepdim=keepdim).log().to(x.dtype)
    top = wide.max(dim, keepdim=True).values.detach()
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    total = torch.exp(wide - top).sum(dim, keepdim=True)
    result = torch.log(total) + top
    return (result if keepdim else result.squeeze(dim)).to(x.dtype)
