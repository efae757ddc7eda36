"""No wrong answer passes, no right one fails, and each failure says which of the few things is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch

from grader.compare import close, eps, fail, finite, same
from grader.model import CheckFailure, Evidence

NAN, INF = math.nan, math.inf
F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
HIDDEN = 7.0398162  # stands for a value that no student may read in a message


def failure(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Evidence:
    """The evidence with which a comparison fails."""
    with pytest.raises(CheckFailure) as caught:
        function(*args, **kwargs)
    return caught.value.evidence


def judge(got: Any, expected: Any, **changed: Any) -> None:
    """`close` with one eps of float32 allowed, where nothing else is said."""
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=F64)
    close(got, expected, **{"dtype": F32, "limit": 1.0, "reason": "one rounding", **changed})


class Subclass(torch.Tensor):
    """A clever object: equal to everything."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        return True


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(F16, 2.0**-10), (BF16, 2.0**-7), (F32, 2.0**-23), (F64, 2.0**-52)],
)
def test_eps(dtype: torch.dtype, expected: float) -> None:
    """eps is the distance from 1 to the next number."""
    assert eps(dtype) == expected


def test_fail() -> None:
    """A check's own failure carries its message, kind and evidence."""
    assert failure(fail, "no", got="3") == Evidence(kind="wrong", message="no", got="3")
    assert failure(fail, "no", "slow", error=2.0) == Evidence(kind="slow", message="no", error=2.0)


# Types, shapes and dtypes


@pytest.mark.parametrize(
    ("got", "kind", "message"),
    [
        (None, "type", "the result is None: is a `return` missing?"),
        (1.0, "type", "the result is a float, not a tensor"),
        (True, "type", "the result is a bool, not a tensor"),
        ([1.0, 2.0], "type", "the result is a list, not a tensor"),
        ((torch.ones(2),), "type", "the result is a tuple, not a tensor"),
        (torch.nn.Parameter(torch.ones(2)), "type", "the result is a Parameter, not a tensor"),
        (torch.ones(2).as_subclass(Subclass), "type", "the result is a Subclass, not a tensor"),
        (torch.tensor(1.0), "shape", "the result has 0 axes where 1 were expected"),
        (torch.ones(1), "shape", "the result has the wrong length along axis 0"),
        (torch.ones(1, 2), "shape", "the result has 2 axes where 1 were expected"),
        (torch.ones(2, 2), "shape", "the result has 2 axes where 1 were expected"),
        (torch.empty(0), "shape", "the result has the wrong length along axis 0"),
        (torch.ones(2, dtype=F64), "dtype", "the result has dtype float64, expected float32"),
        (torch.ones(2, dtype=F16), "dtype", "the result has dtype float16, expected float32"),
        (torch.ones(2, dtype=torch.int64), "dtype", "the result has dtype int64, expected float32"),
        (torch.ones(2, dtype=torch.bool), "dtype", "the result has dtype bool, expected float32"),
        (torch.ones(2, dtype=torch.complex64), "dtype", "the result has dtype complex64, expected float32"),
    ],
)
@pytest.mark.parametrize("function", [judge, same, lambda got, _: finite(got, dtype=F32, shape=(2,))])
def test_form_comes_first(function: Callable[..., Any], got: Any, kind: str, message: str) -> None:
    """A right value in the wrong type, shape or dtype does not pass, and broadcasting helps nobody."""
    evidence = failure(function, got, torch.ones(2, dtype=F64 if function is judge else F32))
    assert (evidence.kind, evidence.message) == (kind, message)


def test_a_missing_gradient_is_named() -> None:
    """None in the place of a gradient says that no graph led to the input."""
    evidence = failure(judge, None, [1.0], what="the gradient for x")
    assert evidence.kind == "no_gradient"
    assert evidence.message == (
        "the gradient for x: none reached the input; was the result detached, or computed from .data or .item()?"
    )


def test_shapes_without_elements() -> None:
    """Empty results pass if their shape is right, and only then."""
    judge(torch.empty(0, 3), torch.empty(0, 3, dtype=F64))
    assert failure(judge, torch.empty(3, 0), torch.empty(0, 3, dtype=F64)).kind == "shape"
    assert failure(judge, torch.empty(0), torch.empty(0, 3, dtype=F64)).kind == "shape"
    same(torch.empty(0), torch.empty(0))
    assert finite(torch.empty(2, 0), dtype=F32, shape=(2, 0)).numel() == 0


def test_scalars() -> None:
    """A 0-d tensor is compared like any other; a number may be the truth."""
    judge(torch.tensor(0.5), 0.5)
    close(torch.tensor(0.5), 0.5, dtype=F32, limit=0.0, reason="exact")
    evidence = failure(judge, torch.tensor(0.75), 0.5)
    assert evidence.detail == "at index []: got 0.75, expected 0.5"


# Errors in eps


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_limit_is_exact(sign: float) -> None:
    """An error of exactly one eps passes a limit of 1 and fails any smaller one."""
    got = torch.tensor([sign * (1 + 2.0**-23)])
    judge(got, [sign])
    evidence = failure(judge, got, [sign], limit=0.999)
    assert (evidence.kind, evidence.error, evidence.limit, evidence.unit) == ("inexact", 1.0, 0.999, "eps")
    assert evidence.message == "the result is off by 1 eps; 0.999 are allowed (one rounding)"
    assert evidence.reason == "one rounding"


@pytest.mark.parametrize("dtype", [F16, BF16, F32])
def test_the_nearest_number_passes_any_limit(dtype: torch.dtype) -> None:
    """The truth rounded to the dtype passes a limit of 0; its neighbours do not."""
    with mpmath.workdps(50):
        truth = float(mpmath.log(2))
    unit = eps(dtype) / 2  # the distance of numbers between 1/2 and 1
    nearest = round(truth / unit) * unit
    close(
        torch.tensor([nearest], dtype=dtype), torch.tensor([truth], dtype=F64), dtype=dtype, limit=0.0, reason="exact"
    )
    for neighbour in (nearest - unit, nearest + unit):
        got = torch.tensor([neighbour], dtype=dtype)
        assert failure(judge, got, [truth], dtype=dtype, limit=0.0).kind == "inexact"


def test_float64_is_compared_exactly() -> None:
    """The last bit of a float64 answer counts, and its evidence shows it."""
    evidence = failure(judge, torch.tensor([1 + 2.0**-52], dtype=F64), [1.0], dtype=F64, limit=0.0)
    assert evidence.error == 1.0
    assert evidence.detail == "at index [0]: got 1.0000000000000002, expected 1"


def test_the_scale_is_what_one_eps_is_relative_to() -> None:
    """A scale, one number or one for each element, widens what one eps means."""
    got, truth = torch.tensor([100.0 + 2.0**-17]), torch.tensor([100.0], dtype=F64)  # off by 2^-17: 64 eps
    judge(got, truth, scale=64.0)
    assert failure(judge, got, truth, scale=63.0).error == pytest.approx(64 / 63)
    judge(got.repeat(2), truth.repeat(2), scale=torch.tensor([64.0, 100.0], dtype=F64))
    evidence = failure(judge, got.repeat(2), truth.repeat(2), scale=torch.tensor([64.0, 16.0], dtype=F64))
    assert (evidence.error, evidence.detail[:12]) == (4.0, "at index [1]")


def test_scales_broadcast() -> None:
    """One scale a row serves all elements of the row."""
    truth = torch.zeros(2, 3, dtype=F64)
    got = torch.full((2, 3), 2.0**-23)
    got[1] *= 8
    judge(got, truth, scale=torch.tensor([[1.0], [8.0]], dtype=F64))
    assert failure(judge, got, truth, scale=torch.tensor([[1.0], [4.0]], dtype=F64)).error == 2.0


def test_a_scale_below_zero_allows_nothing_more() -> None:
    """A scale that was meant to be a magnitude and is negative does not let wrong answers pass."""
    truth = torch.tensor([-1.0], dtype=F64)
    assert failure(judge, torch.tensor([5.0]), truth, scale=truth).error == 6 * 2.0**23


@pytest.mark.parametrize("scale", [0.0, NAN])
def test_a_scale_of_nothing_allows_only_the_truth(scale: float) -> None:
    """Where the scale is 0 (or our own mistake) only the exact value passes."""
    judge(torch.tensor([0.0, 2.0]), [0.0, 2.0], scale=scale)
    assert failure(judge, torch.tensor([0.0, 3.0]), [0.0, 2.0], scale=scale).kind == "inexact"


def test_the_worst_element_is_shown() -> None:
    """The evidence is the element with the largest error, by its index."""
    got = torch.tensor([[1.0, 2.0, 3.5], [4.0, 9.0, 6.25]])
    evidence = failure(judge, got, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], unit="eps·m")
    assert evidence.error == 4 * 2.0**23
    assert evidence.detail == "at index [1, 1]: got 9, expected 5"
    assert evidence.got == "[[1, 2, 3.5], [4, 9, 6.25]] float32[2, 3]"
    assert evidence.expected == "[[1, 2, 3], [4, 5, 6]] float32[2, 3]"
    assert evidence.message == "the result is off by 3.4e+07 eps·m; 1 are allowed (one rounding)"


def test_negative_zero_is_zero() -> None:
    """-0.0 and 0.0 are the same answer."""
    judge(torch.tensor([-0.0, 0.0]), [0.0, -0.0], limit=0.0)
    same(torch.tensor([-0.0]), torch.tensor([0.0]))
    same(-0.0, 0.0)


@pytest.mark.parametrize("limit", [NAN, -1.0])
def test_a_limit_that_is_none(limit: float) -> None:
    """A limit that is no number, or negative, lets no error pass."""
    assert failure(judge, torch.tensor([1.5]), [1.0], limit=limit).kind == "inexact"


# What is not finite


@pytest.mark.parametrize(
    ("got", "expected", "message"),
    [
        (NAN, 1.0, "the result is nan where a finite value was expected"),
        (INF, 1.0, "the result is inf where a finite value was expected"),
        (-INF, 1.0, "the result is -inf where a finite value was expected"),
        (1.0, NAN, "the result is a finite value where nan was expected"),
        (INF, NAN, "the result is inf where nan was expected"),
        (NAN, INF, "the result is nan where inf was expected"),
        (-INF, INF, "the result is -inf where inf was expected"),
        (INF, -INF, "the result is inf where -inf was expected"),
        (1e38, INF, "the result is a finite value where inf was expected"),
        (NAN, -INF, "the result is nan where -inf was expected"),
    ],
)
@pytest.mark.parametrize("limit", [1.0, 1e300, INF])
def test_what_is_not_finite_must_agree(got: float, expected: float, message: str, limit: float) -> None:
    """nan is no wildcard, inf has a sign, and no limit is wide enough for either."""
    evidence = failure(judge, torch.tensor([2.0, got]), [2.0, expected], limit=limit)
    assert (evidence.kind, evidence.message) == ("nonfinite", message)
    assert evidence.detail.startswith("at index [1]: got ")


def test_what_is_not_finite_may_agree() -> None:
    """Where the truth is nan or infinite, exactly that passes, and the rest is still compared."""
    truth = [NAN, INF, -INF, 1.0]
    judge(torch.tensor([NAN, INF, -INF, 1 + 2.0**-23]), truth)
    assert failure(judge, torch.tensor([NAN, INF, -INF, 1.5]), truth).error == 2.0**22


def test_the_first_element_that_disagrees_is_shown() -> None:
    """Of several elements that are not what they should be, the first is told."""
    evidence = failure(judge, torch.tensor([[1.0, NAN], [INF, 2.0]]), [[1.0, 2.0], [3.0, 4.0]])
    assert evidence.detail == "at index [0, 1]: got nan, expected 2"


@pytest.mark.parametrize(
    ("dtype", "truth", "rounded"),
    [
        (F16, 65519.0, 65504.0),
        (F16, 65520.0, INF),  # halfway to 65536, which float16 does not have: the tie goes to infinity
        (F16, 1e300, INF),
        (F16, -65520.0, -INF),
        (BF16, 3.3895313892515355e38, 3.3895313892515355e38),
        (BF16, 3.3961775292304e38, INF),
        (F32, 3.4028235677973362e38, 3.4028234663852886e38),  # just below halfway
        (F32, 3.4028235677973366e38, INF),  # halfway
        (F64, 1.7976931348623157e308, 1.7976931348623157e308),
    ],
)
def test_truth_that_overflows(dtype: torch.dtype, truth: float, rounded: float) -> None:
    """Where the truth rounds to infinity in the dtype, infinity is right and the largest number is not."""
    judge(torch.tensor([rounded, 1.0], dtype=dtype), [truth, 1.0], dtype=dtype, limit=0.0)
    largest = math.copysign(torch.finfo(dtype).max, truth)
    wrong = torch.tensor([largest if math.isinf(rounded) else math.copysign(INF, truth), 1.0], dtype=dtype)
    assert failure(judge, wrong, [truth, 1.0], dtype=dtype, limit=1e9).kind == "nonfinite"


def test_overflow_next_to_an_inexact_element() -> None:
    """An element that rightly overflowed does not hide, or count in, the error of another."""
    truth = [1e39, 1.0]
    judge(torch.tensor([INF, 1 + 2.0**-23]), truth)
    evidence = failure(judge, torch.tensor([INF, 1.25]), truth)
    assert (evidence.error, evidence.detail) == (2.0**21, "at index [1]: got 1.25, expected 1")


# The rest


def test_finite() -> None:
    """A finite tensor is returned as it is; what is not finite is named."""
    x = torch.tensor([1.0, -3e38])
    assert finite(x, dtype=F32, shape=(2,)) is x
    for bad in (NAN, INF, -INF):
        evidence = failure(finite, torch.tensor([1.0, bad, NAN]), dtype=F32, shape=(3,), what="the loss")
        assert evidence.message == f"the loss is {bad} where a finite value was expected"
        assert evidence.kind == "nonfinite"


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, 10**30, 0.1, NAN, INF, "", "ü", F16, [], (), {}, [1, (2.0, [None])],
        {"a": torch.tensor([NAN, -0.0]), 1: [True], NAN: 2}, torch.tensor([1, 2]), torch.tensor(True),
    ],
    ids=str,
)  # fmt: skip
def test_same_as_itself(value: Any) -> None:
    """Every value is the same as itself, nan too."""
    same(value, value)


@pytest.mark.parametrize(
    ("got", "expected", "kind", "message"),
    [
        (True, 1, "type", "the result is a bool, expected a int"),
        (1, True, "type", "the result is a int, expected a bool"),
        (1.0, 1, "type", "the result is a float, expected a int"),
        (1, 1.0, "type", "the result is a int, expected a float"),
        (None, 0, "type", "the result is a NoneType, expected a int"),
        (0, None, "type", "the result is a int, expected a NoneType"),
        ([1], (1,), "type", "the result is a list, expected a tuple"),
        ("1", 1, "type", "the result is a str, expected a int"),
        (torch.tensor(1), 1, "type", "the result is a Tensor, expected a int"),
        (1, 2, "unequal", "the result is not what was expected"),
        (NAN, 1.0, "unequal", "the result is not what was expected"),
        (1.0, NAN, "unequal", "the result is not what was expected"),
        (INF, -INF, "unequal", "the result is not what was expected"),
        (0.1 + 0.2, 0.3, "unequal", "the result is not what was expected"),
        ("a", "b", "unequal", "the result is not what was expected"),
        (F16, BF16, "unequal", "the result is not what was expected"),
        ([1, 2], [1], "unequal", "the result has too many items"),
        ([], [1], "unequal", "the result has too few items"),
        ([1, 2], [1, 3], "unequal", "the result[1] is not what was expected"),
        ([1, (2, True)], [1, (2, 1)], "type", "the result[1][1] is a bool, expected a int"),
        ({}, {"a": 1}, "unequal", "the result has other keys than expected"),
        ({"a": 1, "b": 2}, {"a": 1}, "unequal", "the result has other keys than expected"),
        ({True: 1}, {1: 1}, "unequal", "the result has other keys than expected"),
        ({1.0: 1}, {1: 1}, "unequal", "the result has other keys than expected"),
        ({"a": 1}, {"a": 2}, "unequal", "the result['a'] is not what was expected"),
        ({"a": 1}, [("a", 1)], "type", "the result is a dict, expected a list"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "unequal", "the result is not exactly what was expected"),
        (torch.tensor([NAN]), torch.tensor([1.0]), "unequal", "the result is not exactly what was expected"),
        (torch.tensor([1.0]), torch.tensor([NAN]), "unequal", "the result is not exactly what was expected"),
        (torch.tensor([INF]), torch.tensor([-INF]), "unequal", "the result is not exactly what was expected"),
        (torch.tensor([True]), torch.tensor([1]), "dtype", "the result has dtype bool, expected int64"),
    ],
)
def test_same_is_strict(got: Any, expected: Any, kind: str, message: str) -> None:
    """Types must match exactly, values exactly, and the message names the place."""
    evidence = failure(same, got, expected)
    assert (evidence.kind, evidence.message) == (kind, message)


def test_same_ignores_the_order_of_keys() -> None:
    """Dictionaries with the same pairs are the same, in whatever order."""
    same({"a": 1, "b": [2]}, {"b": [2], "a": 1})


def test_same_in_another_dtype() -> None:
    """The truth may be given in float64 while the answer must have another dtype, and equal it rounded."""
    truth = torch.tensor([0.1], dtype=F64)
    same(torch.tensor([0.1]), truth, dtype=F32)
    assert failure(same, torch.tensor([0.1], dtype=F64), truth, dtype=F32).kind == "dtype"
    assert failure(same, torch.tensor([0.1 + 1e-7]), truth, dtype=F32).kind == "unequal"


SECRET = torch.tensor([HIDDEN, HIDDEN], dtype=F64)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (judge, (SECRET.float() + 1, SECRET), {}),
        (judge, (SECRET.float() * NAN, SECRET), {}),
        (judge, (SECRET.half(), SECRET), {}),
        (judge, (SECRET.float()[:1], SECRET), {}),
        (judge, (HIDDEN, SECRET), {}),
        (judge, ([HIDDEN], SECRET), {}),
        (same, (SECRET.float() + 1, SECRET.float()), {}),
        (same, (HIDDEN + 1, HIDDEN), {}),
        (same, ([HIDDEN], [HIDDEN, HIDDEN]), {}),
        (same, ({"x": HIDDEN}, {"x": 1.0}), {}),
        (same, (str(HIDDEN), HIDDEN), {}),
        (finite, (SECRET / 0,), {"dtype": F64, "shape": (2,)}),
        (finite, (SECRET,), {"dtype": F32, "shape": (2,)}),
    ],
)
def test_messages_hold_no_values(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """What a student of a hidden check reads names kinds, shapes and errors, never an input, answer or truth."""
    message = failure(function, *args, **kwargs).message
    assert not any(digits in message for digits in ("7.03", "8.03", "703", "803", "7.04", "8.04"))


def test_evidence_is_plain() -> None:
    """Whatever a check quotes, now or when it is asked for, no field of the evidence moves a cursor or hides a sign."""
    odd, shown = "a\tb\n\x1b[2J\u202e\u3164", "a\tb\n\\x1b[2J\\u202e\\u3164"
    evidence = failure(fail, odd, got=lambda: odd, detail=odd, expected=lambda: odd, line=3, error=2.0, limit=1.0)
    assert (evidence.message, evidence.got, evidence.detail, evidence.expected) == (shown, shown, shown, shown)
    assert (evidence.line, evidence.error, evidence.limit) == (3, 2.0, 1.0)
    assert failure(same, "\x1b\u3164", "x").got == r"'\x1b\u3164'"
