"""bce_with_logits: yes-or-no questions answered with confidence, wrongly, half-heartedly and not at all."""

from __future__ import annotations

import math

import pytest
import torch

from grader.compare import close, same

UNIT = "eps·(|x| + 1)"  # softplus(x) - x·t rounds both terms at the size of x
LOSS = {"limit": 4, "unit": UNIT, "reason": "one exp, one log, a few roundings: worst honest form measured 0.9"}
GRADIENT = {"limit": 4, "what": "the gradient", "reason": "numbers up to 1: worst honest form measured 1.0"}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def right(got, reference, logits, target, reduction="none"):
    """``got`` is the loss of these logits and targets."""
    scale = reference.bce_with_logits_scale(logits, target, reduction)
    close(got, reference.bce_with_logits(logits, target, reduction), dtype=logits.dtype, scale=scale, **LOSS)


def right_gradient(grad, reference, logits, target, upstream, reduction="none"):
    """``grad`` is the gradient for what comes from ``upstream``."""
    truth, size = reference.bce_with_logits_grad(logits, target, reduction, upstream), float(upstream.abs().max())
    close(grad, truth, dtype=logits.dtype, scale=size, unit="eps·|upstream|", **GRADIENT)


def hesitant(reference, dtype):
    """Eight logits of either sign for either answer; 1 - sigmoid(x) costs hardly a digit at |x| <= 1."""
    signs, answers = torch.tensor([1, 1, -1, -1] * 2, dtype=dtype), torch.tensor([1, 0] * 4, dtype=dtype)
    return reference.uniform((8,), 0.25, 1.0, dtype) * signs, answers


def sure(size, dtype):
    """Logits of that size, right and wrong about either answer."""
    signs, answers = torch.tensor([1, 1, -1, -1], dtype=dtype), torch.tensor([1, 0, 1, 0], dtype=dtype)
    return signs * size, answers


def answers_in(shape):
    """No, yes, no, yes, … in any shape."""
    return (torch.arange(math.prod(shape)) % 2).float().reshape(shape)


@pytest.mark.check("bce_with_logits")
def test_small_values(student, reference):
    """Hesitant answers cost what they should, whether the answer is yes or no"""
    logits, target = hesitant(reference, torch.float32)
    right(student.bce_with_logits(logits, target, reduction="none"), reference, logits, target)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_soft_targets(student, reference):
    """A target of 0.3 weighs both answers, also where the logits are sure of one"""
    unsure, upstream = hesitant(reference, torch.float32)[0], torch.ones(8)
    target = torch.tensor([0.25, 0.3, 0.75, 0.9, 0.3, 0.125, 0.7, 0.6])
    for logits in (unsure, unsure.sign() * 40):
        value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
        right(value, reference, logits, target)
        right_gradient(grad, reference, logits, target, upstream)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_reductions(student, reference):
    """The sum adds the losses up; the mean, the default, divides it by how many there are"""
    logits, target = hesitant(reference, torch.float32)
    for reduction, kwargs in (("sum", {"reduction": "sum"}), ("mean", {"reduction": "mean"}), ("mean", {})):
        right(student.bce_with_logits(logits, target, **kwargs), reference, logits, target, reduction)


@pytest.mark.check("bce_with_logits", needs=["small_values", "reductions"])
@pytest.mark.parametrize("shape", [(), (1,), (5, 1), (3, 4), (2, 3, 4)], ids=str)
def test_shapes(student, reference, shape):
    """Any shape is as good as a vector: one loss per element, and a mean over all of them"""
    logits, target = reference.uniform(shape, 0.25, 1.0, torch.float32), answers_in(shape)
    for reduction in ("none", "mean"):
        right(student.bce_with_logits(logits, target, reduction=reduction), reference, logits, target, reduction)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_empty(student, reference):
    """Without any element the sum is 0 and the mean nan"""
    for shape in ((0,), (3, 0)):
        logits = target = torch.zeros(shape)
        for reduction in ("none", "sum", "mean"):
            value = student.bce_with_logits(logits, target, reduction=reduction)
            same(value, reference.bce_with_logits(logits, target, reduction), dtype=torch.float32)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_confident_mistakes(student, reference, dtype):
    """Where sigmoid rounds to 1 a wrong answer still costs |x|, and still has a gradient"""
    # Nothing between 20 and 38 in float64: from 20 on softplus of the library is linear, which is off by 2e-9 there.
    for size in (40.0 if dtype is torch.float64 else 17.0, 80.0):
        logits, target = sure(size, dtype)
        value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
        right(value, reference, logits, target)
        right_gradient(grad, reference, logits, target, torch.ones(4, dtype=dtype))
    between = torch.cat([reference.uniform((12,), low, low + 3.0, dtype) for low in (1.0, 4.0, 7.0, 10.0, 13.0, 16.0)])
    logits, target = between * sure(1.0, dtype)[0].repeat(18), sure(1.0, dtype)[1].repeat(18)
    value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
    right(value, reference, logits, target)
    right_gradient(grad, reference, logits, target, torch.ones(72, dtype=dtype))


@pytest.mark.check("bce_with_logits", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extreme_logits(student, reference, dtype):
    """Value and gradient stay right where exp(|x|) overflows, up to the largest logits of the dtype"""
    top, upstream = torch.finfo(dtype).max, torch.ones(16, dtype=dtype)
    groups = [sure(size, dtype) for size in (100.0, 1e4, top / 2, top)]
    logits, target = torch.cat([group[0] for group in groups]), torch.cat([group[1] for group in groups])
    value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
    right(value, reference, logits, target)
    right_gradient(grad, reference, logits, target, upstream)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradient_at_zero(student, reference, dtype):
    """At a logit of exactly 0, where an untrained layer starts, the gradient is 0.5 - t"""
    logits, target = torch.tensor([0.0, 0.0, -0.0, -0.0], dtype=dtype), torch.tensor([1, 0, 1, 0], dtype=dtype)
    upstream = torch.full((4,), 2.0, dtype=dtype)
    _, (grad,) = student.bce_with_logits.vjp(logits, target, cotangent=upstream, reduction="none")
    right_gradient(grad, reference, logits, target, upstream)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_gradient(student, reference, reduction):
    """The gradient is sigmoid(x) - t times what comes from upstream, shared out by a mean"""
    logits, target = hesitant(reference, torch.float32)
    upstream = reference.uniform((8,) if reduction == "none" else (), 2.0, 4.0, torch.float32)
    _, (grad,) = student.bce_with_logits.vjp(logits, target, cotangent=upstream, reduction=reduction)
    right_gradient(grad, reference, logits, target, upstream, reduction)


@pytest.mark.check("bce_with_logits", needs=["small_values", "gradient"])
def test_second_derivative(student, reference):
    """The gradient can be differentiated again: p (1 - p) in float64"""
    logits, target = hesitant(reference, torch.float64)  # not at 0, where right forms differ in it
    vector = reference.uniform((8,), 1.0, 2.0, torch.float64)
    _, product = student.bce_with_logits.hvp(logits, target, vector=vector, reduction="sum")
    close(
        product,
        reference.bce_with_logits_hvp(logits, "sum", vector),
        dtype=torch.float64,
        limit=8,
        reason="p (1 - p) <= 0.25 and |v| <= 2: worst honest form measured 0.8",
        what="the gradient of the gradient",
    )


@pytest.mark.check("bce_with_logits", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(student, reference, dtype):
    """Loss and gradient have the dtype of the logits and its accuracy, whatever floating dtype the target has"""
    logits, target = hesitant(reference, dtype)
    for other in DTYPES:
        value, (grad,) = student.bce_with_logits.vjp(logits, target.to(other), reduction="none")
        right(value, reference, logits, target)
        right_gradient(grad, reference, logits, target, torch.ones(8, dtype=dtype))


@pytest.mark.check("bce_with_logits", needs=["small_values", "reductions"])
def test_half_batch(student, reference):
    """The mean over 70 000 float16 losses is right, though float16 can hold neither their number nor their sum"""
    target = torch.zeros(1, dtype=torch.float16)
    for x in (0.0, 2.0):  # all elements are alike, so their mean is what one of them costs
        logits = torch.tensor([x], dtype=torch.float16)
        right(student.bce_with_logits(logits.repeat(70_000), target.repeat(70_000)), reference, logits, target, "mean")


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_not_a_number(student, reference):
    """A nan among the logits gives nan in its own element and disturbs no other"""
    logits, target = hesitant(reference, torch.float32)
    others = torch.arange(8) != 3
    logits = logits.where(others, math.nan)
    value, (grad,) = student.bce_with_logits.vjp(logits, target, reduction="none")
    right(value, reference, logits, target)
    right_gradient(grad[others], reference, logits[others], target[others], torch.ones(7))


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_inputs_untouched(student, reference):
    """Logits and target are the same after the call as before"""
    logits, target = hesitant(reference, torch.float32)
    value, after = student.bce_with_logits.with_inputs(logits, target, reduction="none")
    right(value, reference, logits, target)
    same(after[0], logits, what="the logits after the call")
    same(after[1], target, what="the target after the call")


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_strides(student, reference):
    """Transposed, sliced and expanded inputs are as good as contiguous ones"""
    base, answers = reference.uniform((4, 6), -1.0, 1.0, torch.float32), answers_in((4, 6))
    cases = [
        (base.T, answers.T.contiguous()),
        (base.T.contiguous(), answers.T),
        (base[:, ::2], answers[:, 1::2]),
        (base[:1].expand(4, 6), answers),
        (base.reshape(2, 2, 6).movedim(-1, 0), answers.reshape(6, 2, 2)),
    ]
    for logits, target in cases:
        right(student.bce_with_logits(logits, target, reduction="none"), reference, logits, target)


@pytest.mark.check("bce_with_logits", needs=["small_values"])
def test_errors(student, reference):
    """Shapes that are not the same, unknown reductions and logits that are no logits are refused"""
    logits, target = hesitant(reference, torch.float32)
    right(student.bce_with_logits(logits, target, reduction="none"), reference, logits, target)
    raises = student.bce_with_logits.raises
    raises(ValueError, logits.unsqueeze(1), target)
    raises(ValueError, logits, target.unsqueeze(1))
    raises(ValueError, logits, target[:1])
    raises(ValueError, logits, torch.tensor(1.0))
    raises(ValueError, logits, target[:5])
    raises(ValueError, logits.reshape(2, 4), target.reshape(4, 2))
    raises(ValueError, logits, target, reduction="average")
    raises(TypeError, torch.ones(8, dtype=torch.int64), target)
    raises(TypeError, torch.ones(8, dtype=torch.bool), target)
