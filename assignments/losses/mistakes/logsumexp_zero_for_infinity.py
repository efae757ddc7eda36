"""nan_to_num was applied to the logits: a masked class became a logit of 0 and takes part in the sum, and a nan is hidden."""

import torch

FAILS = ["logsumexp/masked_classes", "logsumexp/infinite_rows", "logsumexp/inputs_untouched"]


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    z = z.nan_to_num(nan=0.0, posinf=torch.inf, neginf=0.0)
    empty = x.dim() > 0 and x.shape[dim] == 0
    m = z.sum(dim, keepdim=True) if empty else z.detach().amax(dim, keepdim=True)
    m = torch.where(m.isfinite(), m, 0.0)
    y = m + (z - m).exp().sum(dim, keepdim=True).log()
    return (y if keepdim else y.squeeze(dim)).to(x.dtype)
