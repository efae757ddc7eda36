"""Four one-line functions: the benchmark measures the grader, not the arithmetic."""

import torch


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    """``x * factor``."""
    ### BEGIN SOLUTION
    return x * factor
    ### END SOLUTION


def shift(x: torch.Tensor, offset: float) -> torch.Tensor:
    """``x + offset``."""
    ### BEGIN SOLUTION
    return x + offset
    ### END SOLUTION


def square(x: torch.Tensor) -> torch.Tensor:
    """``x * x``."""
    ### BEGIN SOLUTION
    return x * x
    ### END SOLUTION


def total(x: torch.Tensor) -> torch.Tensor:
    """The sum of all elements."""
    ### BEGIN SOLUTION
    return x.sum()
    ### END SOLUTION
