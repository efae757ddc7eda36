"""What lies inside a file: members of archives, strings of JSON, bytes in base64. In memory; nothing is extracted."""

from __future__ import annotations

import base64
import codecs
import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

from grader.members import MIB

__all__ = ["Archives", "Closed", "archive_kind", "base64_in", "decoded", "texts"]

MAX_UNPACKED = 64 * MIB  # of all archives of one search together; a release with its wheel unpacks to less than one
MIN_BASE64 = 64  # characters; what is shorter holds no line worth hiding

_ENCODINGS = {  # by byte order mark; those of UTF-32 first, for they begin like those of UTF-16
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:[ \t]*\r?\n[ \t]*[A-Za-z0-9+/_-]{2,})*")
_PLAIN_KEY = re.compile(r"[\w./ -]{1,32}")


def decoded(data: bytes) -> str:
    """Any bytes as text. UTF-16 without a mark is read by dropping its zeros, which is right for ASCII."""
    for mark, encoding in _ENCODINGS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    return data.replace(b"\0", b"").decode("utf-8-sig", errors="replace")


def texts(data: bytes) -> list[tuple[str, str]]:
    """The texts in a file, each with its place: every string of a JSON document, decoded; else the whole file."""
    text = decoded(data)
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return [(_place(label), found) for label, found in _strings(json.loads(text, object_pairs_hook=_Object))]
        except (ValueError, RecursionError):
            pass
    return [("", text)]


class _Object(list[tuple[str, Any]]):
    """A JSON object with all its pairs: of a key that comes twice a dict would keep the last only."""


def _strings(value: Any, label: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield label, value
    elif isinstance(value, _Object):
        for key, inner in value:
            yield label, key
            shown = key if _PLAIN_KEY.fullmatch(key) else "…"  # a key may be what must not be quoted
            yield from _strings(inner, f"{label}.{shown}" if label else shown)
    elif isinstance(value, list) and all(isinstance(inner, str) for inner in value):
        # A notebook keeps a text as a list of its lines, with their newlines; other lists are of separate strings.
        yield label, ("" if all(inner.endswith("\n") for inner in value[:-1]) else "\n").join(value)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, f"{label}[{index}]")


def _place(label: str) -> str:
    """A place in JSON in words; cells of a notebook are counted from 1, as people do."""
    cell = re.fullmatch(r"cells\[(\d+)\]\.?(.*)", label)
    if cell is None:
        return label
    return f"cell {int(cell[1]) + 1}" + (f", {cell[2]}" if cell[2] not in {"", "source"} else "")


def base64_in(text: str) -> Iterator[tuple[int, bytes]]:
    """Line and bytes of every long base64 string in ``text``: wrapped or not, padded or not, of either alphabet."""
    line = 1
    counted = 0
    for match in _BASE64.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        blob = re.sub(r"\s", "", match[0]).translate({ord("-"): "+", ord("_"): "/"})
        if len(blob) >= MIN_BASE64:
            blob = blob[: len(blob) - (len(blob) % 4 == 1)]  # no encoder leaves such a rest: it is the next word's
            yield line, base64.b64decode(blob + "=" * (-len(blob) % 4))


class Closed(Exception):  # noqa: N818 - a state of an archive, which the caller puts into a sentence
    """An archive cannot be looked into; the message says why."""


def archive_kind(name: str, data: bytes) -> str:
    """The kind of archive by its first bytes, or where they say nothing by its name; "" for other files."""
    ending = name.lower().rpartition(".")[2]
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")) or ending in {"zip", "whl"}:
        return "zip"
    if data.startswith(b"\x1f\x8b") or ending in {"gz", "tgz"}:
        return "gzip"
    if data[257:262] == b"ustar" or ending == "tar":
        return "tar"
    other = data.startswith((b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd"))
    return "other" if other or (data[:3] == b"BZh" and data[4:10] == b"1AY&SY") else ""


class Archives:
    """Opens archives, which together may unpack to `MAX_UNPACKED`."""

    def __init__(self) -> None:
        self._left = MAX_UNPACKED

    def members(self, kind: str, name: str, data: bytes) -> Iterator[tuple[str, bytes | None]]:
        """Name and bytes of each member; of a link the path that it leads to, of a folder None. Raises Closed."""
        try:
            if kind == "zip":
                yield from self._zip(data)
            elif kind == "tar":
                yield from self._tar(data)
            elif kind == "gzip":
                with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                    data = self._read(file)
                inner = re.sub(r"(?i)\.gz$", "", name.rpartition("/")[2])
                yield from self._tar(data) if archive_kind("", data) == "tar" else [(inner, data)]
            else:
                raise Closed("its kind is not known here")
        except Closed:
            raise
        except Exception as error:  # on damaged input these modules raise a dozen types, struct.error among them
            raise Closed("it is damaged or protected") from error

    def _zip(self, data: bytes) -> Iterator[tuple[str, bytes | None]]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                # LZMA streams name the memory they want, up to 4 GiB
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise Closed("it is packed by an unusual method")
                if info.is_dir():
                    yield info.filename.rstrip("/"), None
                    continue
                with archive.open(info) as file:
                    yield info.filename, self._read(file)

    def _tar(self, data: bytes) -> Iterator[tuple[str, bytes | None]]:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                if member.isreg() and (file := archive.extractfile(member)):
                    yield member.name, self._read(file)
                else:
                    yield member.name, member.linkname.encode(errors="replace") or None

    def _read(self, file: Any) -> bytes:
        data: bytes = file.read(self._left + 1)
        if len(data) > self._left:
            raise Closed(f"all archives together unpack to more than {MAX_UNPACKED // MIB} MiB")
        self._left -= len(data)
        return data
