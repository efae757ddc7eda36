"""Makes the probabilities first and protects their logarithm with a tiny summand."""

import torch

MISTAKE = "log_softmax/eps-in-log"
CONSTANT = 3e-11


def log_softmax(x, dim=-1):
    if not x.is_floating_point():
        raise TypeError("logits must be floats")
    z = x.float() if x.dtype != torch.float64 else x
    if x.numel() == 0:
        z.sum(dim)  # complains about a wrong axis
        return x.clone()
    top = z.detach().amax(dim=dim, keepdim=True)
    weights = torch.exp(z - top)
    probs = weights / weights.sum(dim=dim, keepdim=True)
    return torch.log(probs + CONSTANT).to(x.dtype)
