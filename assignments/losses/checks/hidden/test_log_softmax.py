"""log_softmax: the value of every entry, the gradient, and what must not happen to anything else."""

from __future__ import annotations

import math

import pytest
import torch

from grader.compare import close, same

INF, NAN = math.inf, math.nan
UNIT = "eps·(m + |answer| + log n + 1)"  # m: the largest |finite entry|; x - logsumexp(x) rounds at its size
VALUE = {"limit": 8, "unit": UNIT, "reason": "n <= 10: worst honest form measured 0.8"}
HALF = {"limit": 4, "unit": UNIT, "reason": "computed in float32, rounded once: worst honest form measured 0.4"}
SHARE = "eps·sum of |upstream|"  # softmax is multiplied with at most that
GRADIENT = {"limit": 16, "unit": SHARE, "what": "the gradient", "reason": "|x| <= 9: worst honest form measured 1.9"}
EXTREME = {
    "limit": 4,
    "unit": SHARE,
    "what": "the gradient",
    "reason": "halves are rounded from float32, shifts are exact: measured 0.6",
}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WIDE = [torch.float32, torch.float64]


def right(got, reference, x, dim=-1):
    """``got`` is log_softmax(x, dim)."""
    limits = VALUE if x.dtype in WIDE else HALF
    close(got, reference.log_softmax(x, dim), dtype=x.dtype, scale=reference.log_softmax_scale(x, dim), **limits)


def right_gradient(got, reference, x, dim, upstream, limits=GRADIENT):
    """``got`` is the gradient of log_softmax(x, dim) for this upstream."""
    share = upstream.double().abs().sum(dim, keepdim=True)
    close(got, reference.log_softmax_grad(x, dim, upstream), dtype=x.dtype, scale=share, **limits)


@pytest.mark.check("log_softmax")
def test_small_values(student, reference):
    """Ordinary logits give the right logarithms, row by row"""
    for x in (torch.tensor([1.0, 2.0, 3.0]), reference.uniform((6, 5), -1.5, 1.5, torch.float32)):
        right(student.log_softmax(x), reference, x)


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_shapes(student, reference):
    """The result has the shape of the logits, empty or 0-d too, and its probabilities add up to 1 along dim"""
    cases = [((5,), 0), ((4, 3), 0), ((3, 3), -2), ((4, 1), -1), ((2, 3, 4), 1), ((2, 3, 4), -1), ((2, 3, 4), 0)]
    for shape, dim in [*cases, ((3, 0), -1), ((0, 3), 0), ((0, 3), -1), ((), 0), ((), -1)]:
        x = reference.uniform(shape, -1.5, 1.5, torch.float32)
        for logits in (x, x.mT.contiguous().mT if x.dim() > 1 else x):  # laid out by rows, and by columns
            right(student.log_softmax(logits, dim), reference, logits, dim)


@pytest.mark.check("log_softmax", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extreme_logits(student, reference, dtype):
    """The value stays right however large or far apart the logits are, up to the largest that the dtype can hold"""
    top = torch.finfo(dtype).max
    far = [0.0, -30.0, -50.0, -70.0, -88.0, -95.0, -103.0, -120.0, -180.0]  # exp of these leaves float32 on the way
    rows = [
        far,
        [0.0, 200.0],
        [1e3, 1e3 + 1, 1e3 + 2],
        [-1e3, -1e3 - 1, -1e3 - 2],
        [1e4, -1e4, 0.0],
        [top / 4, -top / 4],
    ]
    for row in [far, *rows, [top, top], [top, -top]]:  # what the last one gives is below all numbers of the dtype: -inf
        x = torch.tensor(row, dtype=dtype)
        right(student.log_softmax(x), reference, x)


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_mixed_rows(student, reference):
    """Slices of very different size do not disturb each other, nor does one with nan"""
    x = reference.uniform((4, 5), -1.5, 1.5, torch.float32) + torch.tensor([[1e4], [0.0], [-1e4], [0.0]])
    x[3, 2] = NAN
    for logits, dim in ((x, 1), (x.T.contiguous(), 0)):
        right(student.log_softmax(logits, dim), reference, logits, dim)


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_masked_classes(student, reference):
    """An entry of -inf stays -inf, changes nothing for the others, and gets gradient exactly 0"""
    rows = [[1.0, -INF, 2.0, 0.5], [-INF, 3.0, -1.0, 0.0], [0.25, 1.0, -INF, -40.0], [-8.0, -INF, -9.0, -8.5]]
    x = torch.tensor(rows)
    upstream = torch.tensor([1.0, 2.0, 0.5, 3.0]).where(x > -INF, 0.0)  # no loss asks for a class that is ruled out
    value, (grad,) = student.log_softmax.vjp(x, cotangent=upstream)
    right(value, reference, x)
    right_gradient(grad, reference, x, -1, upstream)
    same(grad[x == -INF], torch.zeros(4), what="the gradient of the masked entries")


@pytest.mark.check("log_softmax", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(student, reference, dtype):
    """The result and the gradient have the dtype of the logits, and its accuracy"""
    x, upstream = reference.uniform((3, 8), -4.0, 4.0, dtype), reference.uniform((3, 8), 1.0, 3.0, dtype)
    value, (grad,) = student.log_softmax.vjp(x, cotangent=upstream)
    right(value, reference, x)
    right_gradient(grad, reference, x, -1, upstream, GRADIENT if dtype in WIDE else EXTREME)


@pytest.mark.check("log_softmax", needs=["small_values"])
@pytest.mark.parametrize(("dtype", "count"), [(torch.float16, 70_000), (torch.bfloat16, 4_000)], ids=str)
def test_half_accumulation(student, reference, dtype, count):
    """Half-precision logits are summed in float32: the sum neither overflows nor stops growing"""
    x = torch.zeros(count, dtype=dtype)
    x[0] = -2.0  # or -log n, which needs no sum, would do for all
    right(student.log_softmax(x), reference, x)


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_gradient(student, reference):
    """The gradient is what comes from upstream, less softmax times the sum of it"""
    x, upstream = (
        reference.uniform((5, 7), -1.5, 1.5, torch.float32),
        reference.uniform((5, 7), 2.0, 4.0, torch.float32),
    )
    for dim in (-1, 0):
        _, (grad,) = student.log_softmax.vjp(x, dim, cotangent=upstream)
        right_gradient(grad, reference, x, dim, upstream)


@pytest.mark.check("log_softmax", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradient_of_extremes(student, reference, dtype):
    """The gradient is still right at logits so large that log n vanishes beside them, or so far apart that exp does"""
    top = torch.finfo(dtype).max
    for row in ([top, top], [1e4, 1e4, -1e4], [0.0, 200.0], [top / 4, -top / 4, top / 4, -top / 4], [0.0, 1.0, 2.0]):
        x, upstream = torch.tensor(row, dtype=dtype), torch.tensor([3.0, 1.0, 0.5, 2.0], dtype=dtype)[: len(row)]
        _, (grad,) = student.log_softmax.vjp(x, cotangent=upstream)
        right_gradient(grad, reference, x, -1, upstream, EXTREME)


@pytest.mark.check("log_softmax", needs=["small_values", "gradient"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_second_derivative(student, reference, dtype):
    """The gradient can be differentiated again: -n·(diag(p) - p pᵀ) for the sum of a slice"""
    x = reference.uniform((2, 6), -3.0, 3.0, dtype)
    vector = reference.uniform((2, 6), -2.0, 2.0, dtype)
    _, product = student.log_softmax.hvp(x, vector=vector)
    close(
        product,
        reference.log_softmax_hvp(x, vector),
        dtype=dtype,
        scale=6.0,
        unit="eps·n",
        limit=32,
        reason="|v| <= 2 and n = 6: numbers around 1 rounded a few times, measured 2.7",
        what="the gradient of the gradient",
    )


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_inputs_untouched(student, reference):
    """The logits are the same after the call as before"""
    ordinary = reference.uniform((3, 4), 2.0, 8.0, torch.float32)
    value, after = student.log_softmax.with_inputs(ordinary, 1)
    right(value, reference, ordinary, 1)
    same(after[0], ordinary, what="the logits after the call")
    masked = torch.tensor([[1.0, -INF, 3.0], [-INF, 0.0, 2.0]])  # who writes where there is a -inf is seen only here
    same(student.log_softmax.with_inputs(masked, 1)[1][0], masked, what="the logits after the call")


@pytest.mark.check("log_softmax", needs=["small_values"])
def test_errors(student, reference):
    """Integers, booleans and an axis that is not there are refused with the promised errors"""
    x = reference.uniform((2, 3), -1.5, 1.5, torch.float32)
    right(student.log_softmax(x, 1), reference, x, 1)
    student.log_softmax.raises(TypeError, torch.tensor([[1, 2, 3]]))
    student.log_softmax.raises(TypeError, torch.tensor([True, False]))
    student.log_softmax.raises(IndexError, x, 2)
    student.log_softmax.raises(IndexError, x, -3)


@pytest.mark.check("log_softmax", needs=["small_values"])
@pytest.mark.parametrize(("dtype", "offset"), [(torch.float32, 1e4), (torch.float64, 1e9)], ids=str)
def test_shift_invariance(student, reference, dtype, offset):
    """An offset common to all logits costs no digits of the result, not even the largest one"""
    spread = reference.uniform((4, 5), offset - 4.0, offset + 4.0, dtype)
    top = torch.finfo(dtype).max
    for x in (spread, torch.tensor([top, top, top / 4], dtype=dtype)):
        close(
            student.log_softmax(x),
            reference.log_softmax(x),
            dtype=dtype,
            scale=reference.log_softmax_scale(x, -1, True),
            limit=8,
            unit="eps·(|answer| + log n + 1)",
            reason="forms that shift first stay below 1, x - logsumexp(x) is off by hundreds",
        )
