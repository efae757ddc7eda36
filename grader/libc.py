"""Functions of the C library that Python has no name for, with errors as exceptions."""

from __future__ import annotations

import ctypes
import os

__all__ = ["call"]


def call(what: str, function: str, *arguments: object) -> int:
    """The result of ``function(*arguments)``. Raises OSError, with ``what`` as its subject, when that is negative."""
    result: int = getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
