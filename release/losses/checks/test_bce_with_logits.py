"""First steps with bce_with_logits: a few friendly inputs. What is scored goes further; the handout says where."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close

LOSS = {"limit": 4, "unit": "eps·(|x| + 1)", "reason": "softplus(x) - x·t rounds both terms at the size of x"}
GRADIENT = {"limit": 4, "what": "the gradient", "reason": "a few roundings of numbers below 1"}


@pytest.mark.check("bce_with_logits")
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_three_answers(student, reference, reduction):
    """Logits [1, -2, 0.5] for the answers yes, no, no: one loss each, their sum, their mean"""
    logits, target = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 0.0, 0.0])
    truth = reference.bce_with_logits(logits, target, reduction)
    scale = reference.bce_with_logits_scale(logits, target, reduction)
    close(student.bce_with_logits(logits, target, reduction=reduction), truth, dtype=logits.dtype, scale=scale, **LOSS)


@pytest.mark.check("bce_with_logits", needs=["three_answers"])
def test_wrong_and_sure(student, reference):
    """A logit of 100 for a no costs 100, and so does -100 for a yes; the gradients are 1 and -1"""
    logits, target = torch.tensor([100.0, -100.0]), torch.tensor([0.0, 1.0])
    value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
    truth, scale = reference.bce_with_logits(logits, target, "none"), reference.bce_with_logits_scale(logits, target)
    close(value, truth, dtype=logits.dtype, scale=scale, **LOSS)
    close(grad, reference.bce_with_logits_grad(logits, target, "none", torch.ones(2)), dtype=logits.dtype, **GRADIENT)


@pytest.mark.check("bce_with_logits", needs=["three_answers"])
def test_sigmoid_minus_target(student, reference):
    """The gradient is sigmoid(x) - t, for the soft target 0.25 too"""
    logits, target = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 0.0, 0.25])
    _, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="sum")
    truth = reference.bce_with_logits_grad(logits, target, "sum", torch.tensor(1.0))
    close(grad, truth, dtype=logits.dtype, **GRADIENT)
