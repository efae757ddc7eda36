"""nan_to_num was applied to the result: the -inf of a masked class became the lowest finite number, and a nan became 0, the logarithm of certainty."""

import torch

FAILS = ["log_softmax/extreme_logits", "log_softmax/mixed_rows", "log_softmax/masked_classes"]


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits are floating-point numbers")
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    if x.numel() > 0:
        m = z.detach().amax(dim, keepdim=True)
        z = z - torch.where(m.isfinite(), m, 0.0)
    y = z - z.exp().sum(dim, keepdim=True).log()
    return y.nan_to_num().to(x.dtype)
