"""Half-precision logits were widened to float32 for the work, and the result was never narrowed again: its dtype is float32."""

import torch

FAILS = ["logsumexp/extreme_logits", "logsumexp/dtypes", "logsumexp/half_accumulation"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return y if keepdim else y.squeeze(dim)
