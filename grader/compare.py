"""What checks compare with: an answer against the truth, in units that mean something.

Every function returns ``None`` (or the answer) when all is well and raises :class:`grader.model.CheckFailure`
otherwise. Types come first, then shape, dtype, non-finite pattern and only then the error, so that no answer can
pass by broadcasting, by being a clever object, or because a comparison with nan is false.

The kinds of evidence: ``type``, ``shape``, ``dtype``, ``no_gradient``, ``nonfinite``, ``inexact``, ``unequal`` and
whatever a check gives to :func:`fail`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import torch

from grader import plain
from grader.describe import describe, number
from grader.model import CheckFailure, Evidence, strict_number

__all__ = ["close", "eps", "fail", "finite", "same"]


def eps(dtype: torch.dtype) -> float:
    """The gap between 1.0 and the next larger number of ``dtype`` (2^-23 for float32)."""
    return float(torch.finfo(dtype).eps)


def fail(message: str, kind: str = "wrong", **evidence: Any) -> NoReturn:
    """Say that the answer is wrong. ``message`` is read by students: it names no hidden value.

    ``evidence``: further fields of :class:`grader.model.Evidence`, or functions that make their text when it is read.
    Texts are made plain here (:func:`grader.plain.text`): they may quote what a submission chose.
    """
    later = {name: partial(_made, value) for name, value in evidence.items() if callable(value)}
    now = {name: _plain(value) for name, value in evidence.items() if name not in later}
    raise CheckFailure(Evidence(kind=kind, message=plain.text(message), **now), later)


def _made(value: Callable[[], str]) -> str:
    return plain.text(value())


def _plain(value: Any) -> Any:
    return plain.text(value) if isinstance(value, str) else value


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _tensor(got: object, dtype: torch.dtype, shape: torch.Size, what: str) -> torch.Tensor:
    if got is None and "gradient" in what:
        why = "was the result detached, or computed from .data or .item()?"
        fail(f"{what}: none reached the input; {why}", "no_gradient")
    if got is None:
        fail(f"{what} is None: is a `return` missing?", "type", got="None")
    if type(got) is not torch.Tensor:
        shown = "" if isinstance(got, torch.Tensor) else describe(got)  # a subclass would speak for itself
        fail(f"{what} is a {type(got).__name__}, not a tensor", "type", got=shown)
    if got.shape != shape:
        # The shape itself is the student's choice and could spell a hidden input: it stands in the detail only.
        if got.dim() != len(shape):
            message = f"{what} has {got.dim()} axes where {len(shape)} were expected"
        else:
            axis = next(i for i, (mine, right) in enumerate(zip(got.shape, shape, strict=True)) if mine != right)
            message = f"{what} has the wrong length along axis {axis}"
        fail(message, "shape", got=describe(got), detail=f"shape {tuple(got.shape)}, expected {tuple(shape)}")
    if got.dtype != dtype:
        fail(f"{what} has dtype {_name(got.dtype)}, expected {_name(dtype)}", "dtype", got=describe(got))
    return got


def _index(flat: int, shape: torch.Size) -> str:
    index = []
    for length in reversed(shape):
        index.append(flat % length)
        flat //= length
    return str(list(reversed(index)))


def _kind_of(value: float) -> str:
    return "a finite value" if math.isfinite(value) else number(value)


def close(
    got: object,
    expected: torch.Tensor | float,
    *,
    dtype: torch.dtype,
    limit: float,
    reason: str,
    scale: torch.Tensor | float = 1.0,
    unit: str = "eps",
    what: str = "the result",
) -> None:
    """``got`` is a plain tensor of ``dtype`` whose error is at most ``limit * eps(dtype) * scale`` per element.

    ``expected``: float64 truth; its shape is the shape required. Where it is nan, got must be nan; where it is
    ±inf or overflows ``dtype`` when rounded, got must be that infinity; elsewhere got must be finite.
    ``scale``: number or float64 tensor that broadcasts to ``expected``: what one eps is relative to.
    ``unit``: how ``eps * scale`` is called in the message. ``reason``: why ``limit`` is what it is.
    Raises CheckFailure with the worst element as evidence.
    """
    truth = torch.as_tensor(expected, dtype=torch.float64)
    answer = _tensor(got, dtype, truth.shape, what)
    rounded = truth.to(dtype)
    if torch.equal(answer, rounded):  # correctly rounded: nothing can be better, and most answers are
        return
    wide, shown = answer.to(torch.float64), rounded.to(torch.float64)
    finite_truth = shown.isfinite()
    pattern = finite_truth & wide.isfinite()
    if not bool(pattern.all()):
        pattern |= ~finite_truth & ((wide == shown) | (wide.isnan() & shown.isnan()))
    if not bool(pattern.all()):
        worst = int((~pattern).flatten().nonzero()[0].item())
        is_, should = wide.flatten()[worst].item(), shown.flatten()[worst].item()
        fail(
            f"{what} is {_kind_of(is_)} where {_kind_of(should)} was expected",
            "nonfinite",
            got=partial(describe, answer),
            expected=partial(describe, rounded),
            detail=f"at index {_index(worst, truth.shape)}: got {number(is_)}, expected {number(should)}",
        )
    unit_size = eps(dtype) * (scale if isinstance(scale, float | int) else scale.to(torch.float64))
    error = ((wide - truth) / unit_size).abs()  # the sign of a scale must not make an error negative
    error = torch.where((wide == truth) | ~finite_truth, 0.0, error)  # not nan, where the scale is 0 or the truth inf
    if not bool((error <= limit).all()):
        worst = int(error.nan_to_num(nan=math.inf).flatten().argmax().item())
        size = error.flatten()[worst].item()
        is_, exact = wide.flatten()[worst].item(), number(truth.flatten()[worst].item(), torch.float64)
        fail(
            f"{what} is off by {size:.2g} {unit}; {limit:g} are allowed ({reason})",
            "inexact",
            got=partial(describe, answer),
            expected=partial(describe, rounded),
            detail=f"at index {_index(worst, truth.shape)}: got {number(is_, dtype)}, expected {exact}",
            error=strict_number(size),
            limit=limit,
            unit=unit,
            reason=reason,
        )


def finite(got: object, *, dtype: torch.dtype, shape: tuple[int, ...], what: str = "the result") -> torch.Tensor:
    """``got`` as a tensor of exactly this dtype and shape with only finite elements, else CheckFailure."""
    answer = _tensor(got, dtype, torch.Size(shape), what)
    if not bool(answer.isfinite().all()):
        bad = answer.flatten()[(~answer.isfinite()).flatten()][0].item()
        fail(f"{what} is {number(bad)} where a finite value was expected", "nonfinite", got=describe(answer))
    return answer


def same(got: object, expected: object, *, dtype: torch.dtype | None = None, what: str = "the result") -> None:
    """``got`` equals ``expected`` exactly, type for type: True is not 1, 1 is not 1.0.

    Tensors: same dtype (``dtype`` or that of ``expected``), shape and values; nan equals nan, -0.0 equals 0.0.
    Lists, tuples and dicts are compared item by item. Raises CheckFailure.
    """
    if isinstance(expected, torch.Tensor):
        answer = _tensor(got, dtype or expected.dtype, expected.shape, what)
        truth = expected.to(answer.dtype)
        equal = answer == truth
        if answer.dtype.is_floating_point:
            equal = equal | (answer.isnan() & truth.isnan())
        if not bool(equal.all()):
            fail(f"{what} is not exactly what was expected", "unequal", got=describe(answer), expected=describe(truth))
    elif type(got) is not type(expected):
        message = f"{what} is a {type(got).__name__}, expected a {type(expected).__name__}"
        fail(message, "type", got=describe(got), expected=describe(expected))
    elif isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(got) != len(expected):
            message = f"{what} has too {'many' if len(got) > len(expected) else 'few'} items"
            fail(message, "unequal", got=describe(got), expected=describe(expected))
        for index, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
            same(mine, theirs, what=f"{what}[{index}]")
    elif isinstance(expected, dict) and isinstance(got, dict):
        # By their text, which tells True from 1 and finds nan again.
        mine, theirs = ({repr(key): item for key, item in value.items()} for value in (got, expected))
        if mine.keys() != theirs.keys():
            fail(f"{what} has other keys than expected", "unequal", got=describe(got), expected=describe(expected))
        for key, value in theirs.items():
            same(mine[key], value, what=f"{what}[{key}]")
    elif not (got == expected or (got != got and expected != expected)):
        fail(f"{what} is not what was expected", "unequal", got=describe(got), expected=describe(expected))
