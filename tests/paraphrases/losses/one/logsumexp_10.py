"""The forward of an autograd.Function works out the softmax and keeps it; the backward only multiplies by it."""

import torch

MISTAKE = "logsumexp/stored-softmax"


class StableLse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows):
        peak = rows.max(dim=-1, keepdim=True).values
        peak = peak.masked_fill(peak.isinf(), 0.0)
        weights = (rows - peak).exp()
        norm = weights.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(weights / norm)
        return (norm.log() + peak).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        (probs,) = ctx.saved_tensors
        return g.unsqueeze(-1) * probs


def logsumexp(x, dim=-1, keepdim=False):
    if not x.is_floating_point():
        raise TypeError("x holds no floats")
    n = max(1, x.dim())
    if not -n <= dim <= n - 1:
        raise IndexError(f"dim {dim} for {x.dim()} axes")
    if x.dim() == 0:
        return StableLse.apply(x.reshape(1).to(torch.promote_types(x.dtype, torch.float32))).to(x.dtype)
    work = x.to(torch.promote_types(x.dtype, torch.float32)).transpose(dim, -1)
    if work.shape[-1] == 0:
        flat = work.sum(-1) - float("inf")
    else:
        flat = StableLse.apply(work)
    out = flat.unsqueeze(-1).transpose(dim, -1)
    return (out if keepdim else out.squeeze(dim)).to(x.dtype)
