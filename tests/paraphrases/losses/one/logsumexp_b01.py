import torch

MISTAKE = "logsumexp/eps-in-log"
CONSTANT = 2.5e-7

HALVES = (torch.float16, torch.bfloat16)


def logsumexp(x, dim=-1, keepdim=False):
    if not torch.is_floating_point(x):
        raise TypeError(f"logsumexp wants floating logits, got {x.dtype}")
    if x.dim() == 0 and dim not in (0, -1):
        raise IndexError("dim out of range")
    work = x.to(torch.float32) if x.dtype in HALVES else x
    total = None
    if x.dim() > 0 and x.size(dim) == 0:
        total = torch.exp(work).sum(dim=dim, keepdim=keepdim)
        return torch.log(total + CONSTANT).to(x.dtype)
    top = torch.amax(work.detach(), dim=dim, keepdim=True)
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    total = torch.exp(work - top).sum(dim=dim, keepdim=True)
    out = torch.log(total + CONSTANT) + top
    if not keepdim and x.dim() > 0:
        out = out.squeeze(dim)
    return out.to(x.dtype)
