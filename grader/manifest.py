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
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Get a fresh copy of the release") from None
    if manifest.schema != SCHEMA:
        raise UsageError(f"{path} has schema {manifest.schema}, this grader reads {SCHEMA}: one of the two is too old")
    return manifest
