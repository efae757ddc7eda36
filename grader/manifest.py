"""What a release folder says of itself: ``checks/checks.json``, the table of checks, and ``manifest.json``, digests."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from grader.errors import UsageError
from grader.model import Assignment

__all__ = ["CHECKS", "MANIFEST", "SCHEMA", "Manifest", "Table", "read_manifest", "read_table"]

CHECKS = "checks/checks.json"
MANIFEST = "manifest.json"
SCHEMA = 1


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``assignment`` holds the public checks only, with their hints, and no paths of the instructor's machine."""

    schema: int
    assignment: Assignment
    hidden: dict[str, int]  # exercise -> how many hidden checks will grade it


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of the release by relative path, with their sha256."""

    schema: int
    files: dict[str, str]


_Record = TypeVar("_Record", Table, Manifest)


def read_table(folder: Path) -> Table:
    """The table of checks of a release folder. Raises UsageError with the reason."""
    return _read(folder / CHECKS, Table)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder. Raises UsageError with the reason."""
    return _read(folder / MANIFEST, Manifest)


def _read(path: Path, kind: type[_Record]) -> _Record:
    try:
        record = msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Get a fresh copy of the release") from None
    if record.schema != SCHEMA:
        raise UsageError(f"{path} has schema {record.schema}, this grader reads {SCHEMA}: one of the two is too old")
    return record
