"""What passes between ``grade`` and its slots, one JSON line each."""

from __future__ import annotations

import msgspec

from grader.model import Isolation

__all__ = ["Done", "Job", "Task"]


class Job(msgspec.Struct, frozen=True):
    """What a slot is told before its first entry."""

    assignment: str  # folder
    results: str  # folder
    seed: str  # hexadecimal
    seed_hash: str
    isolation: Isolation
    device: str = "cpu"


class Task(msgspec.Struct, frozen=True):
    """One entry to grade. Done twice it is still one run: a slot that died may have closed it."""

    student: str
    path: bytes  # as the file system spells it, which need not be UTF-8
    run: str = "0001"  # the id of the run to be made


class Done(msgspec.Struct, frozen=True):
    """The answer to one entry; ``error`` is a sentence about the grader, never about the submission."""

    student: str
    error: str = ""
    exit_code: int = 0
