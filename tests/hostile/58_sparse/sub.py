import torch

kinds = [
    lambda x: torch.zeros_like(x).to_sparse(),
    lambda x: torch.empty_like(x, device="meta"),
    lambda x: x.to(torch.complex64),
    lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
    lambda x: torch.nested.nested_tensor([x, x]),
    lambda x: torch.zeros_like(x).to_mkldnn(),
    lambda x: torch.nn.Parameter(x),
]


def double(x):
    kinds.append(kinds.pop(0))
    return kinds[0](x) if isinstance(x, torch.Tensor) else 0.0
