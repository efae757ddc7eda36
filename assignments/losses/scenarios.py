"""What is played beside the student's code; no expected value stands here."""

from __future__ import annotations

from typing import Any

__all__ = ["call_and_return_inputs"]


def call_and_return_inputs(
    student: Any, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The function's value and its arguments as they are after the call."""
    value = getattr(student, function)(*args, **kwargs)
    return {"value": value, "args": tuple(args)}
