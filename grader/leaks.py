"""What must never reach a student, looked for in everything that is about to.

A release is made of public parts only, so a leak is a slip: a folder packed whole, a notebook saved with its outputs, a
line of the solution pasted into a text. This module looks at the bytes that leave, archives included, and not at how
they were made. It finds copies. It finds no paraphrase, and nobody's attempt to hide a copy from it: whoever makes a
release may read the solution anyway.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from grader.contents import Archives, Closed, archive_kind, base64_in, decoded, texts
from grader.model import Assignment
from grader.phrases import Index, Reading, collapsed, phrases, readings
from grader.plain import printable
from grader.stubs import make_stub, solution_lines

__all__ = ["Origin", "Secrets", "leaks"]

MAX_DEPTH = 3  # archives within archives that are opened
MIN_COPY = 64  # bytes; smaller files, such as an `__init__.py`, are equal by chance

# Names of files and folders, in lower case, and what they are
LEFT_BEHIND = {
    ".git": "the history of a repository",
    ".hg": "the history of a repository",
    ".svn": "the history of a repository",
    "__pycache__": "compiled Python",
    ".ipynb_checkpoints": "older states of notebooks",
    ".grader": "the folder of the course's secret",
    ".pytest_cache": "what pytest remembers",
    ".env": "settings of somebody's machine",
    ".ds_store": "what macOS knows of a folder",
}
LEFT_BEHIND_ENDINGS = {".pyc": "compiled Python", ".pyo": "compiled Python", ".swp": "an editor's copy"}
NOTEBOOK_METADATA = {"kernelspec", "language_info"}
CELL_METADATA = {"deletable", "editable", "nbgrader"}  # the first two are how nbgrader locks a cell
NBGRADER_METADATA = {
    "cell_type", "checksum", "grade", "grade_id", "locked", "points", "schema_version", "solution", "task",
}  # fmt: skip

_PACKAGE = Path(__file__).parent
_MARKER = re.compile(r"\W*(begin|end) (solution|hidden tests?)\W*", re.IGNORECASE)
_CHECK_NAME = re.compile(r"\btest_\w+")
_TAKE_OUT = "take it out; what students may read belongs in the handout, the public checks or outside the regions"


class Origin(NamedTuple):
    """Where a secret stands in the course."""

    of: str  # "the solution", "a mistake"
    file: str  # relative to the course
    line: int


MIN_BODY = 80  # characters of a hidden check's body that nobody writes twice by chance
SOLUTION, HIDDEN = "the solution", "the hidden checks"  # kinds of secret files


@dataclass(frozen=True)
class Secrets:
    """What must not reach a student, by the traces that give it away."""

    lines: Mapping[str, Origin]  # by phrase; see `grader.phrases`
    names: Mapping[str, Origin]  # functions of hidden checks
    files: Mapping[str, Origin]  # by sha256 of the whole file: data has no lines
    seed: str = field(default="", repr=False)  # the course's secret, in hexadecimal

    @classmethod
    def of(cls, assignment: Assignment) -> Secrets:
        """The secrets of an assignment and of its course, less what is public anyway.

        Secret are the solution regions, the checks outside ``checks/public``, the reference, the probes, the gallery's
        code, and the course's secret where there is one. Public are the stub and the sentences of the gallery; for
        hidden checks also the lines of code that public checks share with them, but never a whole body; for the rest
        also titles and what the handout and the hints teach; and this package, which everybody can install: what a
        template gave to an assignment is no secret of it. Of the solution, nothing is public but the stub. Raises
        SpecError where the solution has no stub.
        """
        course = Path(assignment.folder).parent.parent
        lines: dict[str, Origin] = {}
        files: dict[str, Origin] = {}
        for of, path, private in _private(assignment):
            file = path.relative_to(course).as_posix()
            files.setdefault(_sha256(path), Origin(of, file, 1))
            for number, line in private.items():
                for phrase in phrases(line):
                    lines.setdefault(phrase, Origin(of, file, number))
        names = {
            check.function: Origin("a hidden check", f"assignments/{assignment.id}/{check.file}", check.line)
            for check in assignment.hidden_checks
        }
        public = {of: _one_text(_public(assignment, of)) for of in {origin.of for origin in lines.values()}}
        known = {phrase for phrase, origin in lines.items() if phrase in public[origin.of]}
        whole = {body: origin for body, origin in _bodies(assignment) if len(body) >= MIN_BODY}
        published = _published(lines | whole)
        known |= {check.function for check in assignment.public_checks} | published
        free = (*_below(Path(assignment.folder, "checks", "public")), *_below(_PACKAGE))
        shared = {"", *(_sha256(path) for path in free)}
        seed = course / ".grader" / "secret"
        return cls(
            lines={phrase: origin for phrase, origin in lines.items() if phrase not in known}
            | {body: origin for body, origin in whole.items() if body not in published},
            names={name: origin for name, origin in names.items() if name not in known},
            files={digest: origin for digest, origin in files.items() if digest not in shared},
            seed=seed.read_text(encoding="ascii", errors="replace").strip().lower() if seed.exists() else "",
        )


def leaks(files: Mapping[str, bytes], secrets: Secrets) -> list[str]:
    """One sentence for each leak in ``files``, by relative path: where, what, and what to do. Empty if there is none.

    Archives (zip, wheel, tar, gzip) are opened in memory; one that cannot be looked into is refused. Sentences name
    the line of the course that leaks, and never quote it: they may end up in a public log.
    """
    search = _Search(secrets)
    for path, data in sorted(files.items()):
        search.file(path, data)
    return search.sentences()


# What is secret, and what is not


def _private(assignment: Assignment) -> Iterator[tuple[str, Path, dict[int, str]]]:
    """Every file that must not ship: what it is, and its secret lines by number."""
    folder, solution = Path(assignment.folder), Path(assignment.solution)
    yield SOLUTION, solution, solution_lines(solution.read_bytes(), assignment.file)
    for path in _below(folder / "checks"):
        if not path.is_relative_to(folder / "checks" / "public"):
            yield HIDDEN, path, _numbered(path)
    for name in ("reference", "probes"):
        if (path := folder / f"{name}.py").exists():
            yield f"the {name}", path, _numbered(path)
    for name in ("mistake", "variant"):
        for path in _below(folder / f"{name}s"):
            docstring = _docstring(path)
            yield f"a {name}", path, {n: line for n, line in _numbered(path).items() if n not in docstring}


def _public(assignment: Assignment, of: str) -> Iterator[str]:
    """Every text whose lines are no leak, although they stand in a secret file of the kind ``of`` too."""
    folder = Path(assignment.folder)
    yield make_stub(Path(assignment.solution).read_bytes(), assignment.file).decode("utf-8-sig")
    if of != SOLUTION:
        yield from (assignment.title, *(exercise.title for exercise in assignment.exercises))
        for path in _below(folder / "checks" / "public"):
            rows = decoded(path.read_bytes()).splitlines()
            yield "\n".join(row for row in rows if not row.lstrip().startswith("#"))  # comments share nothing
    if of not in (SOLUTION, HIDDEN):
        yield from (hint for check in assignment.checks for hint in check.hints)
        yield from (decoded(path.read_bytes()) for path in (folder / "handout.md",) if path.exists())
    for path in (*_below(folder / "mistakes"), *_below(folder / "variants")):
        lines = _numbered(path)
        yield from (lines[number] for number in _docstring(path)[:1])


def _bodies(assignment: Assignment) -> Iterator[tuple[str, Origin]]:
    """The body of each hidden check as one phrase, without its docstring: so much is shared by no accident."""
    for check in assignment.hidden_checks:
        path = Path(assignment.folder, check.file)
        lines = dict(_numbered(path))
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and node.name == check.function and len(node.body) > 1:
                rows = range(node.body[1].lineno, (node.end_lineno or 0) + 1)
                body = Reading((number, lines.get(number, "")) for number in rows).joined
                yield body, Origin(HIDDEN, f"assignments/{assignment.id}/{check.file}", node.lineno)


def _one_text(pages: Iterable[str]) -> str:
    return " ".join(collapsed(line) for page in pages for line in page.splitlines())


def _published(lines: Mapping[str, Origin]) -> set[str]:
    """What of ``lines`` this package itself holds, and all names of checks in it."""
    index, known = Index(lines), set[str]()
    for path in _below(_PACKAGE):
        for _, text in texts(path.read_bytes()):
            for reading in readings(text):
                known.update(_CHECK_NAME.findall(reading.joined), (phrase for _, phrase in index.found(reading)))
    return known


def _below(folder: Path) -> list[Path]:
    there = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in there if _left_behind(path.relative_to(folder).as_posix()) is None]


def _numbered(path: Path) -> dict[int, str]:
    """The lines of a text file by number; none of other files."""
    data = path.read_bytes()
    return {} if b"\0" in data else dict(enumerate(decoded(data).splitlines(), 1))


def _docstring(path: Path) -> range:
    """The lines of a module's docstring."""
    try:
        match ast.parse(path.read_bytes()).body:
            case [ast.Expr(value=ast.Constant(value=str())) as first, *_]:
                return range(first.lineno, (first.end_lineno or first.lineno) + 1)
    except (SyntaxError, ValueError):
        pass  # then all of it is code
    return range(0)


def _sha256(file: Path | bytes) -> str:
    """The digest of a file; "" for one that is too small to be known by it."""
    data = file.read_bytes() if isinstance(file, Path) else file
    return hashlib.sha256(data).hexdigest() if len(data) >= MIN_COPY else ""


# What is refused whatever it holds


def _left_behind(path: str) -> tuple[str, str] | None:
    """The part of ``path`` that refuses the file by its name alone, and what it is."""
    parts = path.split("/")
    for count, part in enumerate(parts, 1):
        name = part.lower()
        what = LEFT_BEHIND.get(name) or LEFT_BEHIND_ENDINGS.get(name[-4:])
        if name.endswith("~"):
            what = "an editor's copy"
        if what:
            return "/".join(parts[:count]), what
    return None


def _notebook_faults(data: bytes) -> Iterator[tuple[str, str, str]]:
    """What a notebook for students must not hold, whatever it says: place, what, what to do."""
    try:
        notebook = json.loads(decoded(data))
        parts = [("", notebook, NOTEBOOK_METADATA)]
        parts += [(f"cell {number}", cell, CELL_METADATA) for number, cell in enumerate(notebook["cells"], 1)]
        for place, part, allowed in parts:
            if part.get("outputs"):
                yield place, "outputs of a run", "clear all outputs"
            if part.get("execution_count") is not None:
                yield place, "the count of a run", "clear all outputs"
            if part.get("attachments"):
                yield place, "an attachment", "take it out; a figure is a file of its own"
            metadata = part.get("metadata", {})
            if metadata.keys() - allowed or metadata.get("nbgrader", {}).keys() - NBGRADER_METADATA:
                yield place, "metadata that no release needs", "keep the kernel's and nbgrader's only"
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        yield "", "no notebook of format 4, so it cannot be judged", "save it anew with Jupyter"


# The search


class _Found(NamedTuple):
    source: str  # where it stands in the course
    advice: str
    places: dict[str, None]  # in order


class _Search:
    """Looks at one file after another and keeps what it finds: for each file and kind of leak the places."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._index = Index(secrets.lines)
        self._archives = Archives()
        self._found: dict[tuple[str, str], _Found] = {}

    def sentences(self) -> list[str]:
        """One for each file and kind of leak."""
        said = []
        for (path, what), (source, advice, places) in self._found.items():
            where = _joined(f"`{printable(path)}`", next(iter(places)))
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            said.append(f"{where}{more}: {what}{source and f' ({source})'} — {advice}")
        return said

    def file(self, path: str, data: bytes | None, depth: int = 0) -> None:
        """Look at one file, or at the name of a folder (None), inside ``depth`` archives."""
        path = path.replace("\\", "/").removeprefix("./")
        package = depth > 0 and "/grader/" in path  # it speaks of markers, and its templates hold whole assignments
        if refused := _left_behind(path):
            self._say(refused[0], refused[1], "leave it out")
        elif "/checks/hidden/" in f"/{path}/" and not package:
            self._say(path[: f"/{path}/".index("/checks/hidden/")] + "checks/hidden", "hidden checks", "leave them out")
        elif data is None:
            return
        elif copied := self._secrets.files.get(_sha256(data)):
            self._say(path, f"a copy of {copied.of}", "leave it out", source=copied.file)
        elif kind := archive_kind(path, data):
            self._members(path, kind, data, depth)
        else:
            if path.lower().endswith(".ipynb"):
                for place, what, advice in _notebook_faults(data):
                    self._say(path, what, advice, place)
            self._content(path, data, "", markers=not package)

    def _members(self, path: str, kind: str, data: bytes, depth: int) -> None:
        try:
            if depth == MAX_DEPTH:
                raise Closed(f"it lies inside {MAX_DEPTH} others")
            for name, inner in self._archives.members(kind, path, data):
                self.file(f"{path}/{name}", inner, depth + 1)
        except Closed as closed:
            self._say(path, f"an archive that cannot be looked into ({closed})", "leave it out, or make it a plain zip")

    def _content(self, path: str, data: bytes, prefix: str, *, markers: bool) -> None:
        for label, text in texts(data):
            place = _joined(prefix, label)
            for reading in readings(text):
                self._reading(path, reading, place, markers=markers)
            for line, blob in base64_in(text):
                self._content(path, blob, _joined(place, f"line {line}", "base64"), markers=markers)

    def _reading(self, path: str, reading: Reading, place: str, *, markers: bool) -> None:
        def say(line: int, what: str, advice: str, origin: Origin | None = None) -> None:
            source = f"{origin.file}, line {origin.line}" if origin else ""
            self._say(path, what, advice, _joined(place, f"line {line}"), source)

        for line, phrase in self._index.found(reading):
            stolen = self._secrets.lines[phrase]
            say(line, f"text of {stolen.of}", _TAKE_OUT, stolen)
        for match in _CHECK_NAME.finditer(reading.joined):
            if named := self._secrets.names.get(match[0]):
                say(reading.line(match.start()), "the name of a hidden check", _TAKE_OUT, named)
        if self._secrets.seed and (at := reading.joined.lower().find(self._secrets.seed)) >= 0:
            say(reading.line(at), "the course's secret", "take it out, and make a new one if it was ever published")
        for line, row in reading.rows if markers else ():
            if _MARKER.fullmatch(row):
                say(line, "a marker of the solved file", "release the stub, not the solved file")

    def _say(self, path: str, what: str, advice: str, place: str = "", source: str = "") -> None:
        self._found.setdefault((path, what), _Found(source, advice, {})).places[place] = None


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))
