"""Values in words: short ones in full, long tensors by shape, range and what is not finite in them."""

from __future__ import annotations

from typing import Any

import torch

from grader.plain import printable

__all__ = ["call_text", "describe", "number", "size_of"]

SHOWN_ELEMENTS = 12  # a row of a small example fits one terminal line
TEXT_LIMIT = 400


def number(value: float, dtype: torch.dtype = torch.float32) -> str:
    """A float for people: enough digits to tell values of ``dtype`` apart, "nan" and "inf" by name, -0.0 as "-0"."""
    short = f"{value:.9g}"
    return repr(value) if dtype == torch.float64 and float(short) != value else short


def _tensor(value: torch.Tensor) -> str:
    head = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value.layout != torch.strided:
        return f"{head} ({str(value.layout).removeprefix('torch.')})"
    if value.numel() == 0:
        return f"{head} (no elements)"
    if value.numel() <= SHOWN_ELEMENTS:
        return f"{_nested(value.detach().tolist(), value.dtype)} {head}"
    if value.dtype == torch.bool or value.dtype.is_complex:
        return head
    flat = value.detach().to(torch.float64).flatten()
    finite = flat[flat.isfinite()]
    parts = [head]
    if finite.numel():
        parts.append(f"min {number(finite.min().item())}, max {number(finite.max().item())}")
    bad = flat.numel() - finite.numel()
    if bad:
        first = int((~flat.isfinite()).nonzero()[0].item())
        parts.append(f"{bad} of {flat.numel()} not finite, the first at flat index {first}")
    return ", ".join(parts)


def _nested(value: Any, dtype: torch.dtype) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(item, dtype) for item in value) + "]"
    return number(value, dtype) if isinstance(value, float) else str(value)


def describe(value: object) -> str:
    """One line for any value that crosses the wire; never longer than a few hundred characters."""
    if isinstance(value, torch.Tensor):
        text = _tensor(value)
    elif isinstance(value, float):
        text = number(value, torch.float64)  # a Python float is one
    elif isinstance(value, (list, tuple)):
        inner = _shown([describe(item) for item in value[:SHOWN_ELEMENTS]], len(value))
        text = f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    elif isinstance(value, dict):
        pairs = [f"{key!r}: {describe(item)}" for key, item in list(value.items())[:SHOWN_ELEMENTS]]
        text = "{" + _shown(pairs, len(value)) + "}"
    elif isinstance(value, torch.dtype):
        text = str(value)
    else:
        text = repr(value)
    text = printable(text)  # `repr` leaves what shows nothing
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def _shown(parts: list[str], length: int) -> str:
    return ", ".join(parts) + (f", … {length} in all" if length > len(parts) else "")


def call_text(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """A call as its author would write it, with described values."""
    parts = [describe(value) for value in args] + [f"{key}={describe(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def size_of(values: object) -> int:
    """How many elements a call's arguments hold: what "the smallest failing input" is measured in."""
    if isinstance(values, torch.Tensor):
        return values.numel()
    if isinstance(values, (list, tuple)):
        return sum(size_of(value) for value in values)
    if isinstance(values, dict):
        return sum(size_of(value) for value in values.values())
    return 1
