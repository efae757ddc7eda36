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
    force: bool = False
    device: str = "cpu"


class Task(msgspec.Struct, frozen=True):
    """One entry to grade."""

    student: str
    path: bytes  # as the file system spells it, which need not be UTF-8


class Done(msgspec.Struct, frozen=True):
    """The answer to one entry; ``error`` is a sentence about the grader, never about the submission."""

    student: str
    graded: bool = False  # False: it had been graded before
    error: str = ""
    exit_code: int = 0
