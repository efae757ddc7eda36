"""From what lies in a folder of submissions to source text, one entry a student; nothing in it is run.

Whatever a student hands in becomes a Submission: with source text, or with one sentence for the student that says
why not. Only the command line can be wrong.
"""

from __future__ import annotations

import ast
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from grader import members, notebook, source
from grader.choice import choose, notebook_name, text_of
from grader.errors import UnreadableSubmission, UsageError
from grader.members import Member
from grader.model import Assignment, Submission
from grader.plain import line, printable, shown

__all__ = ["Entry", "entries", "entry_of", "read", "safe_name"]

MAX_NAME = 200  # characters of a safe name, for file systems allow 255 bytes, and endings are added; of a file's name
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")  # names that Windows keeps for itself
_KEPT = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one student handed in: a folder, a .py, an .ipynb or a zip; never a link, which is refused when read."""

    student: str
    path: Path


def entries(paths: list[Path], assignment: Assignment) -> list[Entry]:
    """The entries behind ``paths``, each of which is one entry or a folder of entries.

    A folder that directly holds the assignment's file (or notebook) is one entry; of any other folder each child is
    one, hidden files and what systems leave behind aside. Raises UsageError: a path that does not exist, nothing found,
    one student twice.
    """
    found = [child for path in paths for child in _entry_paths(path, assignment)]
    if not found:
        looked_in = ", ".join(_quoted(path) for path in paths) or "no path was given"
        raise UsageError(f"no submissions found: {looked_in}; expected one folder, .py, .ipynb or .zip per student")
    first: dict[str, Path] = {}
    for path in found:
        student = _student(path)
        if student in first:
            raise UsageError(
                f"student {shown(student)} is there twice: {_quoted(first[student])} and {_quoted(path)};"
                " keep one, or rename one"
            )
        first[student] = path
    return [entry_of(path) for path in found]


def entry_of(path: Path) -> Entry:
    """The entry at ``path``, made absolute. The student's id is the folder's name, or the file's without its ending."""
    return Entry(_student(path), path.absolute())  # not `resolve`, which would follow a student's link


def read(entry: Entry, assignment: Assignment) -> Submission:
    """The entry as source text. Never raises for what a student handed in: then ``problem`` says what is wrong.

    ``source`` is there whenever the file could be read as text, even if that text is not Python; a submission with a
    ``problem`` cannot be used in either case. ``digest`` covers the bytes of the file that was used, and where none
    was, the problem. The source must be compiled as text: see :func:`grader.source.decode`.
    """
    file, digest, text = entry.path.name, "", None
    notes: tuple[str, ...] = ()
    try:
        member, notes = _member(entry.path, assignment)
        file = member.path
        data = member.read()
        digest = hashlib.sha256(data).hexdigest()
        text, more = text_of(data, member)
        notes += more + _repeated(_tree(text, member), assignment)
        problem = ""
    except UnreadableSubmission as error:
        problem = str(error)
    except OSError as error:
        problem = f"{shown(file)} cannot be read: {error.strerror or error}"
    digest = digest or hashlib.sha256(problem.encode()).hexdigest()
    return Submission(entry.student, line(file, MAX_NAME), text, digest, problem, notes)


def safe_name(student: str) -> str:
    """A file name for a student's id that is fit for every file system, and differs for different ids.

    Lower-case letters, digits, "-", "_" and inner dots stay; every other byte of the UTF-8 form is written %xx, so that
    two ids never meet where case does not count; `urllib.parse.unquote` gives the id back. An id that would need more
    than MAX_NAME characters is cut and ends in "%-" and a hash, from which there is no way back.
    """
    name = "".join(chr(b) if chr(b) in _KEPT else f"%{b:02x}" for b in student.encode("utf-8", "surrogatepass"))
    if name.startswith(".") or _DEVICES.match(name):
        name = f"%{ord(name[0]):02x}{name[1:]}"
    if name.endswith("."):
        name = name[:-1] + "%2e"
    if len(name) > MAX_NAME:
        end = "%-" + hashlib.sha256(name.encode()).hexdigest()[:32]
        name = re.sub(r"%.?$", "", name[: MAX_NAME - len(end)]) + end  # not within a %xx
    return name or "%"


def _entry_paths(path: Path, assignment: Assignment) -> list[Path]:
    try:
        if not path.is_dir():
            path.lstat()
            return [path]
        children = sorted(child for child in path.iterdir() if not members.is_junk(child.name))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UsageError(f"{_quoted(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    names = {child.name for child in children}
    return [path] if names & {assignment.file, notebook_name(assignment)} else children


def _quoted(path: Path) -> str:
    return f"`{printable(str(path))}`"  # whole, however long: the end tells one entry from another


def _student(path: Path) -> str:
    name = path.name if path.name not in ("", "..") else path.resolve().name
    if not _is_folder(path):
        name = Path(name).stem
    # macOS hands names out decomposed. What cannot be seen is written out: two ids never look the same.
    return printable(unicodedata.normalize("NFC", name))


def _is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder itself; what cannot be asked, on a stale mount for one, is told when it is read."""
    try:
        return path.is_dir() and not path.is_symlink()
    except OSError:
        return False


def _member(path: Path, assignment: Assignment) -> tuple[Member, tuple[str, ...]]:
    """The one file of the entry that is to be graded, and warnings."""
    if _is_folder(path):
        inside = members.of_folder(path, assignment.file)
        zips = [member for member in inside if members.kind(member.name) == ".zip"]
        if len(zips) == 1 and not any(members.kind(member.name) in (".py", ".ipynb") for member in inside):
            inside = members.of_zip(zips[0].read(), zips[0].path)
        return choose(inside, assignment)
    if members.kind(path.name) == ".zip":
        return choose(members.of_zip(members.read_file(path, path.name), path.name), assignment)
    member = Member(path.name, lambda: members.read_file(path, path.name))
    if not members.kind(path.name) and path.is_file() and not path.is_symlink():
        raise UnreadableSubmission(f"{shown(path.name)} is not a .py, an .ipynb or a .zip")
    return member, ()


def _tree(text: str, member: Member) -> ast.Module:
    if members.kind(member.name) == ".ipynb":
        return source.checked(text, member.path, lambda line: notebook.cell_at(text, line))
    return source.checked(text, member.path)


def _repeated(tree: ast.Module, assignment: Assignment) -> tuple[str, ...]:
    ids = [exercise.id for exercise in assignment.exercises]
    names = [shown(name) for name in source.repeated(tree) if name in ids]
    return (f"defined more than once, and the last one counts: {', '.join(names)}",) if names else ()
