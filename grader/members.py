"""The files inside what a student handed in, a folder or a zip: nothing is extracted, no link is followed.

Every refusal is an :class:`~grader.errors.UnreadableSubmission` whose sentence is for the student.
"""

from __future__ import annotations

import io
import os
import stat
import unicodedata
import zipfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.errors import UnreadableSubmission
from grader.plain import shown

__all__ = ["Member", "is_junk", "kind", "of_folder", "of_zip", "read_file", "size"]

MIB = 1 << 20
# Bytes read of one file. Honest sources hold a few KiB; each KiB of a hostile one costs up to 1 MiB while it is parsed.
LIMITS = {".py": MIB // 4, ".ipynb": 5 * MIB, ".zip": 20 * MIB}
MAX_UNPACKED = 20 * MIB  # of a whole zip, as its directory declares
MAX_RATIO = 100  # unpacked by packed, of a whole zip; source text reaches about 10
MAX_MEMBERS = 200  # files in a zip
MAX_RECORDS = 10_000  # directory records of a zip, hidden ones included: a repository's .git has thousands
MAX_LOOKED_AT = 2_000  # files and folders of an entry that is a folder
MAX_DEPTH = 20  # folders within folders
JUNK = {
    "__macosx",
    "__pycache__",
    "desktop.ini",
    "thumbs.db",
}  # left behind by systems and tools; compared in lower case
_ENCRYPTED = 0x1


class Member(NamedTuple):
    """One file inside an entry; ``read()`` gives its bytes or refuses: too large, a link, damaged."""

    path: str  # relative to the entry, with "/"
    read: Callable[[], bytes]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def depth(self) -> int:
        """How many folders it lies in."""
        return self.path.count("/")


def kind(name: str) -> str:
    """The ending if it is one that is read (".py", ".ipynb", ".zip"), else ""."""
    ending = PurePosixPath(name).suffix.lower()
    return ending if ending in LIMITS else ""


def size(limit: int) -> str:
    """A limit of bytes or characters in words."""
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"


def is_junk(name: str) -> bool:
    """Whether a file or folder of this name was left there by a system or a tool, and not by the student."""
    return name.startswith(".") or name.lower() in JUNK


def read_file(path: Path, name: str) -> bytes:
    """The bytes of the regular file at ``path``, called ``name`` in messages. Links and devices are never opened."""
    limit = LIMITS.get(kind(path.name), LIMITS[".py"])
    try:
        before = os.lstat(path)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableSubmission(f"{shown(name)} is {_what(before.st_mode)}; hand in the file itself")
        # O_NOFOLLOW and O_NONBLOCK: the file may be exchanged for a link or a pipe after the look at it.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableSubmission(f"{shown(name)} is not a regular file; hand in the file itself")
            return _capped(file.read(limit + 1), limit, name)
    except OSError as error:
        raise UnreadableSubmission(f"{shown(name)} cannot be read: {error.strerror or error}") from error


def of_folder(folder: Path, wanted: str) -> list[Member]:
    """The files below ``folder``, shallow ones first, without junk, down to the level that holds ``wanted``.

    Links and special files are listed, and refuse to be read; linked folders are not entered.
    """
    members: list[Member] = []
    level, depth, looked_at = [""], 0, 0
    while level and depth <= MAX_DEPTH and not any(member.name == wanted for member in members):
        below = []
        for parent in level:
            for child in _children(folder / parent, parent):
                looked_at += 1
                if looked_at > MAX_LOOKED_AT:
                    raise UnreadableSubmission(
                        f"the folder holds more than {MAX_LOOKED_AT} files and folders, and no {shown(wanted)} among"
                        f" the first; hand in only {shown(wanted)}"
                    )
                path = parent + child.name
                if child.is_dir(follow_symlinks=False):
                    below.append(path + "/")
                else:
                    members.append(Member(path, partial(read_file, Path(child.path), path)))
        level, depth = below, depth + 1
    return members


def of_zip(data: bytes, name: str) -> list[Member]:
    """The files inside the zip ``data``, shallow ones first, without junk. Called ``name`` in messages."""
    # Each directory record starts with these bytes, so this bounds what zipfile builds before it can be asked.
    if data.count(b"PK\x01\x02") > MAX_RECORDS:
        raise UnreadableSubmission(f"{shown(name)} holds too many files; hand in only what you wrote")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        infos = archive.infolist()
    except Exception as error:  # on damaged input zipfile raises a dozen types, struct.error among them
        raise UnreadableSubmission(f"{shown(name)} is not a zip file, or is damaged; make the zip again") from error
    members = []
    seen: dict[str, str] = {}
    for info in infos:
        path = _checked(info, name)
        if not path or any(is_junk(part) for part in path.split("/")):
            continue
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in seen:
            both = f"{shown(seen[folded])} and {shown(path)}" if seen[folded] != path else f"{shown(path)} twice"
            raise UnreadableSubmission(f"{shown(name)} holds {both}, which are one file on many systems; keep one")
        seen[folded] = path
        if not info.is_dir():
            members.append(Member(path, partial(_read, archive, info, path)))
    if len(members) > MAX_MEMBERS:
        raise UnreadableSubmission(
            f"{shown(name)} holds {len(members)} files, and {MAX_MEMBERS} are allowed; hand in only what you wrote"
        )
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * len(data):
        raise UnreadableSubmission(
            f"{shown(name)} would unpack to {unpacked / MIB:.1f} MiB from {len(data) / MIB:.3f}; allowed are"
            f" {MAX_UNPACKED // MIB} MiB and {MAX_RATIO} times its size; hand in only what you wrote"
        )
    return sorted(members, key=lambda member: (member.depth, member.path))


def _children(folder: Path, name: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            # One more than may be looked at is enough to refuse: a folder may hold millions.
            some = islice((child for child in found if not is_junk(child.name)), MAX_LOOKED_AT + 1)
            return sorted(some, key=lambda child: child.name)
    except OSError as error:
        raise UnreadableSubmission(f"the folder {shown(name)} cannot be read: {error.strerror or error}") from error


def _checked(info: zipfile.ZipInfo, name: str) -> str:
    """The member's path with "/" between its parts; refuses what could mean a place outside, or is no plain file."""
    path = info.filename.replace("\\", "/")  # some Windows programs write their own separator
    where = f"{shown(name)} holds {shown(path)}, "
    parts = path.rstrip("/").split("/")
    if path.startswith("/") or parts[0][1:2] == ":":
        raise UnreadableSubmission(where + "an absolute path; make the zip from inside the folder")
    if ".." in parts:
        raise UnreadableSubmission(where + "a path that leads out of the zip; make the zip from inside the folder")
    mode = info.external_attr >> 16  # the permission bits of Unix, or 0
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnreadableSubmission(where + f"which is {_what(mode)}; put the file itself into the zip")
    if info.flag_bits & _ENCRYPTED:
        raise UnreadableSubmission(where + "protected by a password; make the zip without one")
    return "/".join(part for part in parts if part not in ("", "."))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> bytes:
    # LZMA streams name the memory they want, up to 4 GiB; honest zips use these two.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnreadableSubmission(f"{shown(path)} is packed by an unusual method; make an ordinary zip")
    limit = LIMITS.get(kind(path), LIMITS[".py"])
    try:
        with archive.open(info) as file:
            data = file.read(limit + 1)
    except Exception as error:  # see `of_zip`
        raise UnreadableSubmission(f"{shown(path)} is damaged inside the zip; make the zip again") from error
    return _capped(data, limit, path)


def _capped(data: bytes, limit: int, name: str) -> bytes:
    if len(data) > limit:
        raise UnreadableSubmission(f"{shown(name)} is larger than {size(limit)}, which is all that is read")
    return data


def _what(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    return "a folder" if stat.S_ISDIR(mode) else "a special file"
