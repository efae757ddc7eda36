"""What a release folder says of itself: ``manifest.json``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.model import Assignment

__all__ = ["MANIFEST", "SCHEMA", "Manifest", "read_manifest"]

MANIFEST = "manifest.json"
SCHEMA = 1


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``assignment`` holds the public checks only, no paths of the instructor's machine; ``files`` are sha256."""

    schema: int
    assignment: Assignment
    hidden: dict[str, int]  # exercise -> how many hidden checks will grade it
    files: dict[str, str]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder. Raises UsageError with the reason."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{folder / MANIFEST} cannot be read: {error}. Get a fresh copy of the release") from None
