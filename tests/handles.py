"""A handle whose worker is ended after use, and what tests of handles share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch

from grader.handle import NOTHING
from grader.isolation import Zygote
from grader.model import Limits
from grader.remote import RemoteHandle

__all__ = ["FILE", "GENEROUS", "X", "remote"]

FILE = "student.py"
GENEROUS = Limits(call_s=60.0, memory_mb=1024)  # none of these calls may time out on a busy machine
X = torch.tensor([1.0, -2.0, 3.0])


@contextlib.contextmanager
def remote(
    zygote: Zygote,
    source: str,
    limits: Limits = GENEROUS,
    scenarios: str | None = None,
    forbidden: Mapping[str, Sequence[str]] = NOTHING,
) -> Iterator[RemoteHandle]:
    """A handle whose worker is ended afterwards."""
    handle = RemoteHandle(zygote, source, FILE, limits, scenarios, forbidden)
    handle.begin("f/one", "f")
    try:
        yield handle
    finally:
        handle.close()
