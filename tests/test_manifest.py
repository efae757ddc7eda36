"""The table of checks and the manifest are read strictly, and each way in which they cannot be is a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.errors import UsageError
from grader.manifest import CHECKS, MANIFEST, SCHEMA, Manifest, Table, read_manifest, read_table
from grader.model import Assignment, Check, Exercise

CHECK = Check("f/small", "f", "Small", "checks/test_f.py", "test_small", 3, False)
ASSIGNMENT = Assignment("a", "A", "a.py", "", "", (Exercise("f", "F", 2.0),), (CHECK,))
WHOLE = Table(SCHEMA, ASSIGNMENT, {"f": 3})
DIGESTS = Manifest(SCHEMA, {"a.py": "0" * 64})


def write(folder: Path, content: bytes) -> None:
    """``content`` as the folder's table of checks."""
    (folder / CHECKS).parent.mkdir(exist_ok=True)
    (folder / CHECKS).write_bytes(content)


def changed(**fields: Any) -> bytes:
    """The table with other fields."""
    return json.dumps({**json.loads(msgspec.json.encode(WHOLE)), **fields}).encode("utf-8")


def test_round_trip(tmp_path: Path) -> None:
    """What was written is read."""
    write(tmp_path, msgspec.json.encode(WHOLE))
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(DIGESTS))
    assert read_table(tmp_path) == WHOLE
    assert read_manifest(tmp_path) == DIGESTS


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"\xff", "malformed"),
        (changed(extra=1), "unknown field `extra`"),
        (changed(schema="1"), "Expected `int`"),
        (changed(hidden={"f": "three"}), "Expected `int`"),
        (changed(assignment={}), "missing required field"),
        (changed(schema=99), "has schema 99"),
        (changed(schema=0), "has schema 0"),
    ],
    ids=["empty", "cut", "list", "bytes", "extra", "text", "hidden", "assignment", "newer", "older"],
)
def test_other_content_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    """A manifest of another form or version is a usage error that names the file and the reason."""
    write(tmp_path, content)
    with pytest.raises(UsageError, match=told) as caught:
        read_table(tmp_path)
    assert str(tmp_path / CHECKS) in str(caught.value)


def test_this_schema_is_the_first() -> None:
    """Releases that students hold are of schema 1; another number would refuse them all."""
    assert SCHEMA == 1


def test_no_table(tmp_path: Path) -> None:
    """A folder without a table, or with a folder in its place, is a usage error."""
    with pytest.raises(UsageError, match="Get a fresh copy"):
        read_table(tmp_path)
    (tmp_path / CHECKS).mkdir(parents=True)
    with pytest.raises(UsageError, match="Get a fresh copy"):
        read_table(tmp_path)
