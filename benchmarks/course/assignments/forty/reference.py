"""Truth in float64, from Python floats."""

from __future__ import annotations

import math

import torch


def numbers(rng: torch.Generator, n: int) -> torch.Tensor:
    """``n`` multiples of 1/64 in [-1, 1): every operation on them below is exact in float32."""
    return torch.randint(-64, 64, (n,), generator=rng).to(torch.float32) / 64


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    """``x * factor``."""
    return torch.tensor([value * factor for value in x.tolist()], dtype=torch.float64)


def shift(x: torch.Tensor, offset: float) -> torch.Tensor:
    """``x + offset``."""
    return torch.tensor([value + offset for value in x.tolist()], dtype=torch.float64)


def square(x: torch.Tensor) -> torch.Tensor:
    """``x * x``."""
    return torch.tensor([value * value for value in x.tolist()], dtype=torch.float64)


def total(x: torch.Tensor) -> torch.Tensor:
    """The exact sum."""
    return torch.tensor(math.fsum(x.tolist()), dtype=torch.float64)
