"""logsumexp: the value, the gradient, and what must not happen to anything else."""

from __future__ import annotations

import math

import pytest
import torch

from grader.compare import close, same

INF, NAN = math.inf, math.nan
UNIT = "eps·(m + log n)"  # m: the largest |finite entry|; the last addition rounds at its size
SHORT = {"limit": 8, "unit": UNIT, "reason": "any order of n <= 100 terms: worst honest form measured 2.6"}
LONG = {"limit": 1024, "unit": UNIT, "reason": "49 999 logaddexp in a row are slow and right: measured 364"}
HALF = {"limit": 4, "unit": UNIT, "reason": "computed in float32, rounded once: worst honest form measured 0.95"}
GRADIENT = {"limit": 16, "what": "the gradient", "reason": "|x| <= 9: honest forms measured 1.1, sums in pairs m/2"}
EXTREME = {"limit": 4, "what": "the gradient", "reason": "the shift is exact: one exp, one sum, one division remain"}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WIDE = [torch.float32, torch.float64]


def right(got, reference, x, dim=-1, keepdim=False, limits=None):
    """``got`` is logsumexp(x, dim, keepdim)."""
    limits = limits or (SHORT if x.dtype in WIDE else HALF)
    scale = reference.logsumexp_scale(x, dim, keepdim)
    close(got, reference.logsumexp(x, dim, keepdim), dtype=x.dtype, scale=scale, **limits)


@pytest.mark.check("logsumexp")
def test_small_values(student, reference):
    """Ordinary logits give the right value, row by row"""
    for x in (torch.tensor([1.0, 2.0, 3.0]), reference.uniform((6, 10), -4.0, 4.0, torch.float32)):
        right(student.logsumexp(x), reference, x)


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize(
    ("shape", "dim", "keepdim"),
    [
        ((5,), 0, True),
        ((4, 1), -1, False),
        ((1, 3), -1, False),
        ((4, 3), 0, False),
        ((4, 3), -2, True),
        ((2, 3, 4), 1, False),
        ((2, 3, 4), -1, True),
        ((2, 3, 4), 0, True),
    ],
)
def test_shapes(student, reference, shape, dim, keepdim):
    """dim and keepdim decide the axis and the shape of the result"""
    x = reference.uniform(shape, -4.0, 4.0, torch.float32)
    right(student.logsumexp(x, dim, keepdim), reference, x, dim, keepdim)


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_empty_slices(student, reference):
    """An empty slice gives -inf, no slices give an empty tensor, a 0-d tensor is its own result"""
    cases = [
        ((3, 0), -1, False),
        ((0, 3), 0, False),
        ((0, 3), 0, True),
        ((0, 3), -1, False),
        ((), 0, False),
        ((), -1, True),
    ]
    for shape, dim, keepdim in cases:
        x = reference.uniform(shape, 2.0, 6.0, torch.float32)
        right(student.logsumexp(x, dim, keepdim), reference, x, dim, keepdim)


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extreme_logits(student, reference, dtype):
    """The value stays right at the largest logits that the dtype can hold"""
    top = torch.finfo(dtype).max
    rows = [[1e3, 1e3 + 1, 1e3 + 2], [-1e3, -1e3 - 1, -1e3 - 2], [1e4, 1e4, -1e4], [top, top], [top / 4, -top, 1.0]]
    for row in rows:
        x = torch.tensor(row, dtype=dtype)
        right(student.logsumexp(x), reference, x)


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_mixed_rows(student, reference):
    """Slices of very different size do not disturb each other"""
    x = reference.uniform((3, 5), -2.0, 2.0, torch.float32) + torch.tensor([[1e4], [0.0], [-1e4]])
    for logits, dim in ((x, 1), (x.T.contiguous(), 0)):
        right(student.logsumexp(logits, dim), reference, logits, dim)


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_masked_classes(student, reference):
    """An entry of -inf adds nothing to the value and gets gradient exactly 0"""
    rows = [[1.0, -INF, 2.0, 0.5], [-INF, 3.0, -1.0, 0.0], [0.25, 1.0, -INF, -40.0], [-8.0, -INF, -9.0, -8.5]]
    x, upstream = torch.tensor(rows), torch.tensor([1.0, 0.5, -2.0, 3.0])
    value, (grad,) = student.logsumexp.vjp(x, cotangent=upstream)
    right(value, reference, x)
    truth = reference.logsumexp_grad(x, -1, upstream)
    close(grad, truth, dtype=x.dtype, scale=3.0, unit="eps·|upstream|", **GRADIENT)
    same(grad[x == -INF], torch.zeros(4), what="the gradient of the masked entries")


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_infinite_rows(student, reference):
    """A row of only -inf gives -inf, one with +inf gives inf, one with nan gives nan"""
    rows = [[-INF, -INF, -INF], [1.0, INF, 2.0], [INF, INF, 0.0], [INF, -INF, 1.0], [NAN, 1.0, 2.0], [1.0, 2.0, 3.0]]
    x = torch.tensor(rows)
    right(student.logsumexp(x), reference, x)


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_many_classes(student, reference, dtype):
    """50 000 classes are no trouble, neither for the digits nor for the time"""
    x = reference.uniform((50_000,), -6.0, 6.0, dtype)
    right(student.logsumexp(x), reference, x, limits=LONG)


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(student, reference, dtype):
    """The result and the gradient have the dtype of the logits, and its accuracy"""
    x = reference.uniform((3, 8), -4.0, 4.0, dtype)
    upstream = torch.ones(3, dtype=dtype)
    value, (grad,) = student.logsumexp.vjp(x, cotangent=upstream)
    right(value, reference, x)
    close(
        grad,
        reference.logsumexp_grad(x, -1, upstream),
        dtype=dtype,
        limit=16 if dtype in WIDE else 4,
        reason="halves are rounded once from float32; for the others as in `gradient`",
        what="the gradient",
    )


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize(("dtype", "count"), [(torch.float16, 70_000), (torch.bfloat16, 4_000)], ids=str)
def test_half_accumulation(student, reference, dtype, count):
    """Half-precision logits are summed in float32: the sum neither overflows nor stops growing"""
    x = torch.zeros(count, dtype=dtype)
    right(student.logsumexp(x), reference, x)


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_gradient(student, reference):
    """The gradient is softmax times whatever comes from upstream"""
    dtype = torch.float32
    x = reference.uniform((5, 7), -4.0, 4.0, dtype)
    for dim, shape in ((-1, (5,)), (0, (1, 7))):
        upstream = reference.uniform(shape, 2.0, 4.0, dtype)
        _, (grad,) = student.logsumexp.vjp(x, dim, len(shape) == 2, cotangent=upstream)
        truth = reference.logsumexp_grad(x, dim, upstream)
        close(grad, truth, dtype=dtype, scale=4.0, unit="eps·|upstream|", **GRADIENT)


@pytest.mark.check("logsumexp", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradient_of_extremes(student, reference, dtype):
    """The gradient is still softmax at logits so large that log n vanishes beside them"""
    top = torch.finfo(dtype).max
    for row in ([top, top], [1e4, 1e4, -1e4], [top / 4, -top, top / 4, -top], [0.0, 1.0, 2.0]):
        x, upstream = torch.tensor(row, dtype=dtype), torch.tensor(3.0, dtype=dtype)
        _, (grad,) = student.logsumexp.vjp(x, cotangent=upstream)
        truth = reference.logsumexp_grad(x, -1, upstream)
        close(grad, truth, dtype=dtype, scale=3.0, unit="eps·|upstream|", **EXTREME)


@pytest.mark.check("logsumexp", needs=["small_values", "gradient"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_second_derivative(student, reference, dtype):
    """The gradient can be differentiated again: diag(p) - p pᵀ"""
    x = reference.uniform((2, 6), -3.0, 3.0, dtype)
    vector = reference.uniform((2, 6), -2.0, 2.0, dtype)
    _, product = student.logsumexp.hvp(x, vector=vector)
    close(
        product,
        reference.logsumexp_hvp(x, vector),
        dtype=dtype,
        limit=32,
        reason="|v| <= 2 and n = 6: worst honest form measured 0.5, numbers around 1 rounded a few times",
        what="the gradient of the gradient",
    )


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_inputs_untouched(student, reference):
    """The logits are the same after the call as before"""
    for x in (reference.uniform((3, 4), 2.0, 8.0, torch.float32), torch.tensor([[1.0, -INF, 3.0], [-INF, 0.0, 2.0]])):
        value, after = student.logsumexp.with_inputs(x, 1)
        right(value, reference, x, 1)
        same(after[0], x, what="the logits after the call")


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_strides(student, reference):
    """Transposed, sliced and expanded logits are as good as contiguous ones"""
    base = reference.uniform((4, 6), -4.0, 4.0, torch.float32)
    for x in (base.T, base[:, ::2], base[1:, 1:5], base[:1].expand(3, 6), base.reshape(2, 2, 6).movedim(-1, 0)):
        for dim in (0, -1):
            right(student.logsumexp(x, dim), reference, x, dim)


@pytest.mark.check("logsumexp", needs=["small_values"])
def test_errors(student, reference):
    """Integers, booleans and an axis that is not there are refused with the promised errors"""
    x = reference.uniform((2, 3), 1.0, 3.0, torch.float32)
    right(student.logsumexp(x, 1), reference, x, 1)
    student.logsumexp.raises(TypeError, torch.tensor([[1, 2, 3]]))
    student.logsumexp.raises(TypeError, torch.tensor([True, False]))
    student.logsumexp.raises(IndexError, x, 2)
    student.logsumexp.raises(IndexError, x, -3)
