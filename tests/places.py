"""What lies around a test: processes and their descriptors, as Linux tells them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["alive", "wait_until_gone"]


def alive(pid: int) -> bool:
    """The process exists and is no zombie."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] != "Z"
        )
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pids: Iterable[int], seconds: float = 20.0) -> list[int]:
    """Those of ``pids`` that are still alive after ``seconds``; returns as soon as none is."""
    deadline = time.monotonic() + seconds
    left = [pid for pid in pids if alive(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(0.01)
        left = [pid for pid in left if alive(pid)]
    return left
