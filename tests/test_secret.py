"""One secret a course: made once, kept, and never guessed at when it is damaged."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.secret import course_secret, hash_of


def test_made_once_and_kept(tmp_path: Path) -> None:
    """The first call makes 32 bytes and says so; later ones read them."""
    secret, new = course_secret(tmp_path)
    assert (len(secret), new) == (32, True)
    assert course_secret(tmp_path) == (secret, False)
    assert (tmp_path / ".grader" / "secret").read_text(encoding="ascii") == secret.hex() + "\n"


def test_each_course_has_its_own(tmp_path: Path) -> None:
    """Two courses do not share a secret."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert course_secret(tmp_path / "a")[0] != course_secret(tmp_path / "b")[0]


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    """The file is for its owner alone, whatever the umask says."""
    before = os.umask(0)
    try:
        course_secret(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ".grader" / "secret").stat().st_mode) == 0o600


def test_a_folder_that_exists(tmp_path: Path) -> None:
    """Other files in .grader are left alone."""
    (tmp_path / ".grader").mkdir()
    (tmp_path / ".grader" / "notes").write_text("x", encoding="utf-8")
    course_secret(tmp_path)
    assert (tmp_path / ".grader" / "notes").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"00" * 31, b"00" * 33, b"zz" * 32, b"0" * 63, b"\xff" * 64, "ü".encode() * 32],
    ids=["empty", "newline", "short", "long", "letters", "odd", "bytes", "umlauts"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file that holds no secret is an error that names it, and is not written over."""
    path = tmp_path / ".grader" / "secret"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UsageError, match="restore it from a backup, or delete it") as caught:
        course_secret(tmp_path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_upper_case_and_spaces_around(tmp_path: Path) -> None:
    """A secret that went through an editor is still the same secret."""
    path = tmp_path / ".grader" / "secret"
    path.parent.mkdir()
    path.write_bytes(b"\n " + b"AB" * 32 + b" \r\n")
    assert course_secret(tmp_path) == (b"\xab" * 32, False)


def test_hash() -> None:
    """The hash tells secrets apart, repeats, and shows nothing of them."""
    one, other = bytes(32), bytes(31) + b"\1"
    assert hash_of(one) == hash_of(bytes(32)) != hash_of(other)
    assert len(hash_of(one)) == 16
    assert int(hash_of(one), 16) >= 0
    assert one.hex()[:16] != hash_of(one)
