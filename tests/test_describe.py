"""Values in one short line that people can read and compare."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.describe import call_text, describe, number, size_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (3.0, "3"),
        (-250.0, "-250"),
        (0.5, "0.5"),
        (1e-7, "1e-07"),
        (123456789.0, "123456789"),
        (3.4028234663852886e38, "3.40282347e+38"),
        (5e-324, "4.94065646e-324"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    """Numbers are short where they can be; the sign of zero and what is not finite is told."""
    assert number(value) == text


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.floats(allow_nan=False))
def test_numbers_can_be_told_apart(single: float, double: float) -> None:
    """The text of a float32 number names no other float32 number, that of a float64 number no other float64."""
    assert torch.tensor(float(number(single)), dtype=torch.float32).item() == single
    assert float(number(double, torch.float64)) == double


ENDLESS = torch.tensor([1.0] * 15 + [math.inf, math.nan])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor(2.5), "2.5 float32[]"),
        (torch.tensor([[1.0, -0.0], [math.nan, math.inf]]), "[[1, -0], [nan, inf]] float32[2, 2]"),
        (torch.tensor([0.1]), "[0.100000001] float32[1]"),
        (torch.tensor([0.1, 1 + 2**-52], dtype=torch.float64), "[0.1, 1.0000000000000002] float64[2]"),
        (torch.tensor([True, False]), "[True, False] bool[2]"),
        (torch.tensor([2**62], dtype=torch.int64), "[4611686018427387904] int64[1]"),
        (torch.tensor([65504.0], dtype=torch.float16), "[65504] float16[1]"),
        (torch.empty(0, 3), "float32[0, 3] (no elements)"),
        (torch.arange(13.0), "float32[13], min 0, max 12"),
        (torch.arange(12).view(3, 4), "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] int64[3, 4]"),
        (torch.ones(2, 10, dtype=torch.bool), "bool[2, 10]"),
        (torch.ones(20, dtype=torch.complex64), "complex64[20]"),
        (torch.eye(3).to_sparse(), "float32[3, 3] (sparse_coo)"),
        (torch.ones(20).to(torch.float8_e5m2), "float8_e5m2[20], min 1, max 1"),
        (ENDLESS, "float32[17], min 1, max 1, 2 of 17 not finite, the first at flat index 15"),
        (torch.full((13,), math.nan), "float32[13], 13 of 13 not finite, the first at flat index 0"),
        (torch.ones(2, requires_grad=True) * 2, "[2, 2] float32[2]"),
    ],
    ids=str,
)
def test_tensors(value: torch.Tensor, text: str) -> None:
    """Small tensors are shown whole, large ones by shape, range and the first element that is not finite."""
    assert describe(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (7, "7"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0, "1"),
        ("a'b", '"a\'b"'),
        (torch.bfloat16, "torch.bfloat16"),
        ([], "[]"),
        ((1, [2.5, "x"]), "(1, [2.5, 'x'])"),
        ({"a": 1, 2: (torch.tensor(1.0),)}, "{'a': 1, 2: (1 float32[])}"),
        (list(range(12)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"),
        (list(range(13)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 13 in all]"),
        (dict.fromkeys(range(13)), "{" + "".join(f"{i}: None, " for i in range(12)) + "… 13 in all}"),
    ],
    ids=str,
)
def test_other_values(value: Any, text: str) -> None:
    """Plain data are shown as one would write them; long ones say how long they are."""
    assert describe(value) == text


@pytest.mark.parametrize("value", ["x" * 10_000, [["y" * 500] * 12] * 12, {"k" * 5000: 1}, 10**3999])
def test_long_values_are_cut(value: Any) -> None:
    """No description is longer than 400 characters, and a cut one ends in an ellipsis."""
    text = describe(value)
    assert len(text) == 400
    assert text.endswith("…")


def test_what_shows_nothing_is_written_out() -> None:
    """Text is quoted as Python does it, and what Python leaves although it cannot be seen is an escape too."""
    assert describe({"\u3164": ["\x1b\ufe0f"]}) == r"{'\u3164': ['\x1b\ufe0f']}"


def test_call_text() -> None:
    """A call reads as in a program."""
    text = call_text("f", (torch.tensor([1.0]), 2, "a"), {"dim": -1, "dtype": torch.half})
    assert text == "f([1] float32[1], 2, 'a', dim=-1, dtype=torch.float16)"
    assert call_text("g", (), {}) == "g()"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1, 1),
        (None, 1),
        ("abc", 1),
        (torch.empty(3, 4), 12),
        (torch.empty(0), 0),
        (torch.ones(1).expand(10), 10),
        ([torch.ones(2), (1, torch.ones(3))], 6),
        ({"a": torch.ones(5), "b": [1]}, 6),
        ([], 0),
    ],
    ids=str,
)
def test_size_of(value: Any, size: int) -> None:
    """The size of a call is the number of elements in it."""
    assert size_of(value) == size
