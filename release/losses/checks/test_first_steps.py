"""First steps: a few friendly inputs. What is scored goes further; the handout says where."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close

LSE = {"limit": 8, "unit": "eps·(m + log n)", "reason": "the last addition rounds at the size of the maximum m"}
LOSS = {"limit": 8, "unit": "eps·(m + loss + log n + 1)", "reason": "logsumexp(z) - z_y rounds at the size of m"}
GRADIENT = {"limit": 16, "what": "the gradient", "reason": "a few roundings of numbers below 1"}


@pytest.mark.check("logsumexp")
def test_three_numbers(student, reference):
    """logsumexp of [1, 2, 3] is 3.4076, of [5] it is 5"""
    for x in (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([5.0]), torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])):
        close(student.logsumexp(x), reference.logsumexp(x), dtype=x.dtype, scale=reference.logsumexp_scale(x), **LSE)


@pytest.mark.check("logsumexp")
def test_a_thousand(student, reference):
    """logsumexp of [1000, 1001, 1002] is 1002.4076, of their negatives -999.5924"""
    for x in (torch.tensor([1000.0, 1001.0, 1002.0]), torch.tensor([-1000.0, -1001.0, -1002.0])):
        close(student.logsumexp(x), reference.logsumexp(x), dtype=x.dtype, scale=reference.logsumexp_scale(x), **LSE)


@pytest.mark.check("logsumexp", needs=["three_numbers"])
@pytest.mark.parametrize(("dim", "keepdim"), [(0, False), (-1, False), (1, True)])
def test_any_axis(student, reference, dim, keepdim):
    """dim picks the axis that is summed away, keepdim leaves it with size 1"""
    x = reference.uniform((3, 4), -4.0, 4.0, torch.float32)
    truth, scale = reference.logsumexp(x, dim, keepdim), reference.logsumexp_scale(x, dim, keepdim)
    close(student.logsumexp(x, dim, keepdim), truth, dtype=x.dtype, scale=scale, **LSE)


@pytest.mark.check("logsumexp", needs=["three_numbers"])
def test_softmax_gradient(student, reference):
    """The gradient of logsumexp([1, 2, 3]) is their softmax: [0.0900, 0.2447, 0.6652]"""
    x = torch.tensor([1.0, 2.0, 3.0])
    _, (grad,) = student.logsumexp.vjp(x)
    close(grad, reference.logsumexp_grad(x, -1, torch.tensor(1.0)), dtype=x.dtype, **GRADIENT)


@pytest.mark.check("cross_entropy")
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_two_rows(student, reference, reduction):
    """Two rows of three classes: one loss each, their sum, their mean"""
    logits, target = torch.tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 5.0]]), torch.tensor([1, 0])
    truth = reference.cross_entropy(logits, target, -100, reduction)
    scale = reference.cross_entropy_scale(logits, target, -100, reduction)
    close(student.cross_entropy(logits, target, reduction=reduction), truth, dtype=logits.dtype, scale=scale, **LOSS)


@pytest.mark.check("cross_entropy", needs=["two_rows"])
def test_very_wrong(student, reference):
    """Logits [0, 200] for class 0 cost 200, and the gradient [-1, 1] says what to change"""
    logits, target = torch.tensor([[0.0, 200.0]]), torch.tensor([0])
    value, (grad,) = student.cross_entropy.vjp(logits, target)
    truth, scale = reference.cross_entropy(logits, target), reference.cross_entropy_scale(logits, target)
    close(value, truth, dtype=logits.dtype, scale=scale, **LOSS)
    truth = reference.cross_entropy_grad(logits, target, -100, "mean", torch.tensor(1.0))
    close(grad, truth, dtype=logits.dtype, **GRADIENT)


@pytest.mark.check("cross_entropy", needs=["two_rows"])
def test_one_ignored(student, reference):
    """A target of -100 does not count: its loss is 0, and the mean is over the others"""
    logits, target = torch.tensor([[1.0, 2.0], [3.0, 1.0]]), torch.tensor([-100, 0])
    for reduction in ("none", "mean"):
        truth = reference.cross_entropy(logits, target, -100, reduction)
        scale = reference.cross_entropy_scale(logits, target, -100, reduction)
        value = student.cross_entropy(logits, target, reduction=reduction)
        close(value, truth, dtype=logits.dtype, scale=scale, **LOSS)
