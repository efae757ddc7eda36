"""Whatever a file is packed or written in, its texts come out, with the place where each stands."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import zipfile

import pytest

from grader import contents
from grader.contents import Archives, Closed, archive_kind, base64_in, decoded, texts


def zipped(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip with a file, a folder and a file in a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("a", b"A")
        archive.writestr("b/", b"")
        archive.writestr("b/c", b"")
    return buffer.getvalue()


def tarred(packing: str = "") -> bytes:
    """A tar with a file, a folder and a link."""
    members = (("a", tarfile.REGTYPE, b"A"), ("b", tarfile.DIRTYPE, b""), ("c", tarfile.SYMTYPE, b""))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as archive:  # type: ignore[call-overload]
        for name, kind, data in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(data)
            member.linkname = "/there" if kind == tarfile.SYMTYPE else ""
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_bytes_are_read_in_every_encoding_of_unicode(encoding: str) -> None:
    """ASCII with or without a mark; other characters where the mark says how."""
    assert decoded("one\ntwo".encode(encoding)) == "one\ntwo"
    if encoding in {"utf-8", "utf-8-sig", "utf-16", "utf-32"}:
        assert decoded("1e−8 · x".encode(encoding)) == "1e−8 · x"


def test_bytes_that_are_no_text_are_read_as_far_as_they_are() -> None:
    """What is not UTF-8 is replaced, what is stays."""
    assert decoded(b"\xff\xfa one \xe9 two") == "�� one � two"


def test_the_strings_of_a_document() -> None:
    """Keys and values with their places, lists of strings as one text, every one of two equal keys."""
    data = b'{"a": {"b c": ["one\\n", "two"], "odd\\"": "x"}, "d": ["one", "two"], "e": [1, "\\u00e9"], "d": "again"}'

    assert texts(data) == [
        ("", "a"), ("a", "b c"), ("a.b c", "one\ntwo"), ("a", 'odd"'), ("a.…", "x"), ("", "d"), ("d", "one\ntwo"),
        ("", "e"), ("e[1]", "é"), ("", "d"), ("d", "again"),
    ]  # fmt: skip


def test_cells_are_counted_as_people_do() -> None:
    """The first is 1, and its source needs no other word."""
    data = json.dumps({"cells": [{"source": "a"}, {"source": ["b"], "metadata": {"tags": ["c"]}}]}).encode()

    assert [place for place, text in texts(data) if text in set("abc")] == ["cell 1", "cell 2", "cell 2, metadata.tags"]


@pytest.mark.parametrize("data", [b"{'a': 1}", b"[project]\nname = 1", b"[" * 10_000 + b"]" * 10_000, b"one"])
def test_what_only_looks_like_a_document_is_one_text(data: bytes) -> None:
    """Python, TOML, and JSON that is nested beyond reason."""
    assert texts(data) == [("", data.decode())]


@pytest.mark.parametrize("size", [48, 49, 50, 57, 200])
@pytest.mark.parametrize("write", ["plain", "unpadded", "wrapped", "addresses"])
def test_base64_comes_out(size: int, write: str) -> None:
    """Whole, in each way of writing it, with its line; strings of less than 64 characters are left alone."""
    data = bytes(range(200, 256)) * 4
    blob = base64.b64encode(data[:size]).decode()
    if write == "unpadded":
        blob = blob.rstrip("=")
    elif write == "wrapped":
        blob = "\n  ".join(blob[at : at + 60] for at in range(0, len(blob), 60))
    elif write == "addresses":
        blob = blob.replace("+", "-").replace("/", "_")

    assert list(base64_in(f'a\n"{blob}", "b"\n')) == [(2, data[:size])]
    assert list(base64_in(base64.b64encode(data[:45]).decode())) == []


@pytest.mark.parametrize("word", ["a", "words", "wordless"])
def test_base64_with_a_word_below_it(word: str) -> None:
    """The word is taken for more of it, whatever its length; what stood before it comes out all the same."""
    data = bytes(range(100, 151))

    ((line, found),) = base64_in(f"{base64.b64encode(data).decode()}\n{word}, and more")
    assert (line, found[: len(data)]) == (1, data)


def test_members_of_archives() -> None:
    """Files with their bytes, folders without, links with where they lead; a packed single file is its own member."""
    archives = Archives()
    in_tar = [("a", b"A"), ("b", None), ("c", b"/there")]

    assert list(archives.members("zip", "x.zip", zipped())) == [("a", b"A"), ("b", None), ("b/c", b"")]
    assert list(archives.members("tar", "x.tar", tarred())) == in_tar
    assert list(archives.members("gzip", "x.tgz", tarred("gz"))) == in_tar
    assert list(archives.members("gzip", "a/x.SVG.GZ", gzip.compress(b"A"))) == [("x.SVG", b"A")]


def test_archives_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one has unpacked, the next can not; what is refused takes nothing away."""
    monkeypatch.setattr(contents, "MAX_UNPACKED", 1000)
    archives = Archives()

    def unpack(size: int) -> int:
        return sum(len(data or b"") for _, data in archives.members("gzip", "x.gz", gzip.compress(bytes(size))))

    assert unpack(600) == 600
    with pytest.raises(Closed, match="more than"):
        unpack(401)
    assert unpack(400) == 400
    with pytest.raises(Closed, match="more than"):
        unpack(1)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a", zipped(), "zip"),
        ("a", b"PK\x05\x06" + bytes(18), "zip"),
        ("a.whl", b"", "zip"),
        ("a", tarred(), "tar"),
        ("a.TAR", b"", "tar"),
        ("a", tarred("gz"), "gzip"),
        ("a.tgz", b"", "gzip"),
        ("a", tarred("bz2"), "other"),
        ("a", tarred("xz"), "other"),
        ("a.py", b"PK = 'zip'", ""),
        ("zip", b"", "zip"),
        ("tar.py", b"BZh is a mark", ""),
        ("", b"", ""),
    ],
)
def test_archives_are_known_by_content_and_by_name(name: str, data: bytes, kind: str) -> None:
    """A wrong name hides none, and a right one without content is not taken for text."""
    assert archive_kind(name, data) == kind


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        ("zip", b"PK\x03\x04", "damaged or protected"),
        ("tar", b"a" * 600, "damaged or protected"),
        ("tar", tarred()[:600], "damaged or protected"),
        ("gzip", tarred("gz")[:-4], "damaged or protected"),
        ("gzip", b"", "more than"),
        ("zip", zipped(zipfile.ZIP_BZIP2), "unusual method"),
        ("other", b"", "not known"),
    ],
)
def test_what_cannot_be_looked_into_says_why(kind: str, data: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage anywhere, unusual packing, and too much of it."""
    if why == "more than":
        monkeypatch.setattr(contents, "MAX_UNPACKED", 1 << 10)
        data = gzip.compress(bytes(2 << 10))
    with pytest.raises(Closed, match=why):
        list(Archives().members(kind, "x", data))
