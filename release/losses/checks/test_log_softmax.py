"""First steps of log_softmax: a row by hand, and one whose probabilities a dtype cannot hold."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close

VALUE = {"limit": 8, "unit": "eps·(m + |answer| + log n + 1)", "reason": "x - logsumexp(x) rounds at the size of m"}
GRADIENT = {"limit": 16, "what": "the gradient", "reason": "a few roundings of numbers below 2"}


@pytest.mark.check("log_softmax")
@pytest.mark.parametrize("dim", [-1, 0])
def test_by_hand(student, reference, dim):
    """log_softmax of [1, 2, 3] is [-2.4076, -1.4076, -0.4076], of three zeros -1.0986 each; dim picks the axis"""
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    truth, scale = reference.log_softmax(x, dim), reference.log_softmax_scale(x, dim)
    close(student.log_softmax(x, dim), truth, dtype=x.dtype, scale=scale, **VALUE)


@pytest.mark.check("log_softmax", needs=["by_hand"])
def test_far_apart(student, reference):
    """log_softmax of [0, 200] is [-200, 0], and its first entry still has the gradient [1, -1]"""
    x, upstream = torch.tensor([0.0, 200.0]), torch.tensor([1.0, 0.0])
    value, (grad,) = student.log_softmax.vjp(x, cotangent=upstream)
    close(value, reference.log_softmax(x), dtype=x.dtype, scale=reference.log_softmax_scale(x), **VALUE)
    close(grad, reference.log_softmax_grad(x, -1, upstream), dtype=x.dtype, **GRADIENT)
