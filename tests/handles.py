"""A handle whose worker is ended after use, and what tests of handles share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from grader.handle import RemoteHandle
from grader.isolation import Zygote
from grader.model import Limits

__all__ = ["FILE", "GENEROUS", "X", "remote"]

FILE = "student.py"
GENEROUS = Limits(call_s=60.0, memory_mb=1024)  # none of these calls may time out on a busy machine
X = torch.tensor([1.0, -2.0, 3.0])


@contextlib.contextmanager
def remote(
    zygote: Zygote, source: str, limits: Limits = GENEROUS, scenarios: str | None = None
) -> Iterator[RemoteHandle]:
    """A handle whose worker is ended afterwards."""
    handle = RemoteHandle(zygote, source, FILE, limits, scenarios)
    handle.begin("f/one", "f")
    try:
        yield handle
    finally:
        handle.close()
