"""Folders and zips are looked into without extracting, following or trusting anything."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import members
from grader.errors import UnreadableSubmission


def _zip(files: dict[str, bytes], *, packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _special(name: str, mode: int) -> bytes:
    buffer = io.BytesIO()
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, b"/etc/passwd")
    return buffer.getvalue()


def _refusal(data: bytes) -> str:
    with pytest.raises(UnreadableSubmission) as caught:
        for member in members.of_zip(data, "ada.zip"):
            member.read()
    return str(caught.value)


def test_zip_lists_shallow_files_first() -> None:
    """Members come by depth, then by name; folders and what systems leave behind are not among them."""
    data = _zip(
        {
            "b/deep/x.py": b"3",
            "b/": b"",
            "a.py": b"1",
            "b/y.py": b"2",
            "__MACOSX/a.py": b"",
            ".git/config": b"",
            "b/.DS_Store": b"",
        }
    )
    found = members.of_zip(data, "ada.zip")
    assert [(member.path, member.name, member.depth, member.read()) for member in found] == [
        ("a.py", "a.py", 0, b"1"),
        ("b/y.py", "y.py", 1, b"2"),
        ("b/deep/x.py", "x.py", 2, b"3"),
    ]


def test_zip_of_windows() -> None:
    """A backslash in a member's name separates folders."""
    assert [member.path for member in members.of_zip(_zip({"week 1\\losses.py": b""}), "ada.zip")] == [
        "week 1/losses.py"
    ]


@pytest.mark.parametrize(
    ("name", "shown", "what"),
    [
        ("../evil.py", "../evil.py", "a path that leads out of the zip"),
        ("a/../../evil.py", "a/../../evil.py", "a path that leads out of the zip"),
        ("..\\evil.py", "../evil.py", "a path that leads out of the zip"),
        ("/etc/evil.py", "/etc/evil.py", "an absolute path"),
        ("C:\\evil.py", "C:/evil.py", "an absolute path"),
        ("__MACOSX/../../evil.py", "__MACOSX/../../evil.py", "a path that leads out of the zip"),
    ],
)
def test_zip_with_paths_that_lead_out(name: str, shown: str, what: str) -> None:
    """A path that would lie outside, were it extracted, refuses the whole zip."""
    refusal = _refusal(_zip({"losses.py": b"", name: b""}))
    assert refusal == f"`ada.zip` holds `{shown}`, {what}; make the zip from inside the folder"


@pytest.mark.parametrize(
    ("mode", "what"), [(stat.S_IFLNK, "a link"), (stat.S_IFIFO, "a special file"), (stat.S_IFCHR, "a special file")]
)
def test_zip_with_links(mode: int, what: str) -> None:
    """Links and devices refuse the whole zip: zipfile alone would make a plain file of a link."""
    expected = f"`ada.zip` holds `losses.py`, which is {what}; put the file itself into the zip"
    assert _refusal(_special("losses.py", mode | 0o777)) == expected


def test_zip_with_a_password() -> None:
    """An encrypted member is named, and what to do about it."""
    data = bytearray(_zip({"losses.py": b"x = 1"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert _refusal(bytes(data)) == "`ada.zip` holds `losses.py`, protected by a password; make the zip without one"


def test_zip_with_case_clashes() -> None:
    """Two names that differ in case or in composition only are refused, and so is one name twice."""
    end = "which are one file on many systems; keep one"
    assert _refusal(_zip({"losses.py": b"", "Losses.py": b""})) == f"`ada.zip` holds `losses.py` and `Losses.py`, {end}"
    twice = _zip({"losses.py": b"1", "tosses.py": b"2"}).replace(b"tosses.py", b"losses.py")
    assert _refusal(twice) == f"`ada.zip` holds `losses.py` twice, {end}"
    both = _zip({"é.py": b"", "e\N{COMBINING ACUTE ACCENT}.py": b""})
    assert _refusal(both).endswith(end)


def test_zip_bombs() -> None:
    """Size, ratio and number of files are refused before anything is unpacked."""
    end = "allowed are 20 MiB and 100 times its size; hand in only what you wrote"
    assert _refusal(_zip({"a.py": bytes(5 << 20)})) == f"`ada.zip` would unpack to 5.0 MiB from 0.005; {end}"
    noise = {f"{i}.py": os.urandom(3 << 20) for i in range(7)}
    assert _refusal(_zip(noise, packed=zipfile.ZIP_STORED)) == f"`ada.zip` would unpack to 21.0 MiB from 21.001; {end}"
    assert _refusal(_zip({f"{i}.py": b"" for i in range(201)})) == (
        "`ada.zip` holds 201 files, and 200 are allowed; hand in only what you wrote"
    )
    assert _refusal(b"PK\x01\x02" * 10_001) == "`ada.zip` holds too many files; hand in only what you wrote"


def test_zip_with_hundreds_of_hidden_files() -> None:
    """A repository's own `.git` inside the zip does not count."""
    data = _zip({f".git/objects/{i}": b"" for i in range(500)} | {"losses.py": b"x"})
    assert [member.path for member in members.of_zip(data, "ada.zip")] == ["losses.py"]


def test_zip_that_lies_about_sizes() -> None:
    """A member that declares less than it holds gives no more than declared, and is refused as damaged."""
    data = bytearray(_zip({"losses.py": b"x = 1\n" * 1000}))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    assert _refusal(bytes(data)) == "`losses.py` is damaged inside the zip; make the zip again"


def test_zip_with_a_large_file() -> None:
    """A source file of more than 256 KiB is refused when it is read, and not before."""
    found = members.of_zip(_zip({"a.py": b"1", "b.py": os.urandom((1 << 18) + 1)}), "ada.zip")
    assert found[0].read() == b"1"
    with pytest.raises(UnreadableSubmission, match=r"^`b\.py` is larger than 256 KiB, which is all that is read$"):
        found[1].read()


def test_zip_by_unusual_methods() -> None:
    """LZMA streams choose how much memory they take, so only the two ordinary methods are unpacked."""
    assert _refusal(_zip({"losses.py": b"x = 1"}, packed=zipfile.ZIP_LZMA)) == (
        "`losses.py` is packed by an unusual method; make an ordinary zip"
    )


def test_damaged_zip() -> None:
    """A file that is no zip, and a zip with a flipped byte, are refused in words."""
    assert _refusal(b"Rar!") == "`ada.zip` is not a zip file, or is damaged; make the zip again"
    data = bytearray(_zip({"losses.py": b"x = 1"}, packed=zipfile.ZIP_STORED))
    data[data.index(b"x = 1")] ^= 1
    assert _refusal(bytes(data)) == "`losses.py` is damaged inside the zip; make the zip again"


_HONEST = _zip({"losses.py": b"x = 1\n" * 50, "sub/notes.txt": b"hi", "a.ipynb": b"{}"})


@given(
    st.lists(st.tuples(st.integers(0, len(_HONEST) - 1), st.integers(0, 255)), max_size=8), st.integers(0, len(_HONEST))
)
def test_any_bytes_as_zip(changes: list[tuple[int, int]], end: int) -> None:
    """Whatever the bytes, a zip gives members or a refusal, and nothing else."""
    data = bytearray(_HONEST)
    for place, value in changes:
        data[place] = value
    try:
        for member in members.of_zip(bytes(data[:end] if end % 3 else data), "ada.zip"):
            assert len(member.read()) <= 5 << 20
    except UnreadableSubmission as refusal:
        assert str(refusal).isprintable()


def test_folder_lists_shallow_files_first(tmp_path: Path) -> None:
    """A folder is read as a zip is: by depth, without junk."""
    for path in ("z.py", "sub/a.py", "sub/deep/b.py", ".git/c.py", "__pycache__/z.pyc", "Thumbs.db"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    found = members.of_folder(tmp_path, "losses.py")
    assert [(member.path, member.read().decode()) for member in found] == [
        (path, path) for path in ("z.py", "sub/a.py", "sub/deep/b.py")
    ]


def test_folder_stops_where_the_file_is(tmp_path: Path) -> None:
    """Below the level that holds the file nothing is looked at: a student's environment may lie there."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "x.py").touch()
    (tmp_path / "losses.py").touch()
    assert [member.path for member in members.of_folder(tmp_path, "losses.py")] == ["losses.py"]


def test_folder_with_too_many_files(tmp_path: Path) -> None:
    """The search for the file ends at a limit, in words."""
    for i in range(2001):
        (tmp_path / f"{i}.txt").touch()
    with pytest.raises(UnreadableSubmission) as caught:
        members.of_folder(tmp_path, "losses.py")
    assert str(caught.value) == (
        "the folder holds more than 2000 files and folders, and no `losses.py` among the first;"
        " hand in only `losses.py`"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files on this system")
def test_links_and_pipes_are_never_opened(tmp_path: Path) -> None:
    """A link is refused even where its target is honest, a linked folder is not entered, a pipe does not block."""
    (tmp_path / "real.txt").write_text("x = 1", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "losses.py").symlink_to(tmp_path / "real.txt")
    (tmp_path / "inner" / "linked").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "inner" / "pipe.py")
    refusals = {}
    for member in members.of_folder(tmp_path / "inner", "model.py"):
        with pytest.raises(UnreadableSubmission) as caught:
            member.read()
        refusals[member.path] = str(caught.value)
    assert refusals == {
        "linked": "`linked` is a link; hand in the file itself",
        "losses.py": "`losses.py` is a link; hand in the file itself",
        "pipe.py": "`pipe.py` is a special file; hand in the file itself",
    }


def test_large_and_missing_files(tmp_path: Path) -> None:
    """A file is read up to its kind's limit, and a missing one is told in words."""
    big = tmp_path / "big.py"
    big.write_bytes(bytes(1 << 18))
    assert len(members.read_file(big, "big.py")) == 1 << 18
    big.write_bytes(bytes((1 << 18) + 1))
    with pytest.raises(UnreadableSubmission, match=r"^`big\.py` is larger than 256 KiB, which is all that is read$"):
        members.read_file(big, "big.py")
    with pytest.raises(UnreadableSubmission, match=r"^`no\.py` cannot be read: No such file or directory$"):
        members.read_file(tmp_path / "no.py", "no.py")


def test_kinds() -> None:
    """Endings count in any case, and only those that are read."""
    assert [members.kind(name) for name in ("a.py", "a.PY", "a.b.ipynb", "a.zip", "a.tar.gz", "py", ".py")] == [
        ".py", ".py", ".ipynb", ".zip", "", "", "",
    ]  # fmt: skip


def test_a_folder_of_thousands_is_not_listed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files a folder holds, a bounded number of their names is ever in memory, junk aside."""
    looked_at = 0

    class Child:
        def __init__(self, number: int) -> None:
            self.name, self.path = f"{number}.txt", f"/{number}.txt"

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return follow_symlinks

    class Listing:
        def __enter__(self) -> Iterator[Child]:
            return self.children()

        def __exit__(self, *_: object) -> None:
            pass

        def children(self) -> Iterator[Child]:
            nonlocal looked_at
            for number in range(100_000):
                looked_at += 1
                yield Child(number)

    monkeypatch.setattr(os, "scandir", lambda path: Listing())
    with pytest.raises(UnreadableSubmission, match="more than 2000 files and folders"):
        members.of_folder(tmp_path, "losses.py")
    assert looked_at == 2001
