"""The gallery beside an assignment: wrong solutions (``mistakes/``) and right ones by other means (``variants/``).

A file holds literals about itself, read from its syntax tree: ``FAILS``, the hidden checks that a mistake must not
pass; ``MISSES``, the stretch checks that a variant misses; ``VARY``, other values for its constants, with which it is
the same mistake; ``FORM_OF``, the id of a mistake that it is another form of, told in that one's words. It is judged on
the exercises that it defines, and need not define the others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.checkfiles import names_bound, parse
from grader.errors import SpecError
from grader.model import Assignment
from grader.reading import did_you_mean

__all__ = ["Entry", "Variation", "read_gallery"]


@dataclass(frozen=True)
class Variation:
    """A mistake made with another constant: ``name`` says which, ``source`` is the whole file."""

    name: str  # "EPS = 1e-06"; empty for the entry as it stands
    source: str


@dataclass(frozen=True)
class Entry:
    """One file of the gallery."""

    id: str  # "log-of-softmax"
    kind: str  # "mistake" or "variant"
    file: str  # "mistakes/cross_entropy_log_of_softmax.py"
    exercise: str  # whose mistake it is; of a variant, the first exercise that it defines
    exercises: tuple[str, ...]  # all that it defines
    sentence: str  # what the student reads
    expected: frozenset[str]  # ids of the checks that it must not pass
    variations: tuple[Variation, ...]  # the first is the file itself
    form: bool = False  # another form of a mistake that has a file of its own, with the same id and sentence


def read_gallery(assignment: Assignment) -> tuple[Entry, ...]:
    """All entries, mistakes first, by file name. Raises SpecError with everything that is wrong with them."""
    problems: list[str] = []
    entries = []
    for folder, kind in (("mistakes", "mistake"), ("variants", "variant")):
        for path in sorted((Path(assignment.folder) / folder).glob("*.py")):
            entry = _Reader(assignment, path, kind, problems).entry()
            if entry is not None:
                entries.append(entry)
    sentences = {(entry.exercise, entry.id): entry.sentence for entry in entries if not entry.form}
    for index, entry in enumerate(entries):
        if entry.form and (entry.exercise, entry.id) in sentences:
            entries[index] = replace(entry, sentence=sentences[entry.exercise, entry.id])
        elif entry.form:
            known = [id_ for exercise, id_ in sentences if exercise == entry.exercise]
            near = did_you_mean(entry.id, known) or " — name the mistake that it is another form of"
            problems.append(f"assignments/{assignment.id}/{entry.file}:1: FORM_OF names {entry.id!r}, no mistake{near}")
    if problems:
        raise SpecError(problems)
    return tuple(entries)


class _Reader:
    """Reads one file; what is wrong with it goes to ``problems``."""

    def __init__(self, assignment: Assignment, path: Path, kind: str, problems: list[str]) -> None:
        self.assignment = assignment
        self.path = path
        self.kind = kind
        self.problems = problems
        self.where = f"assignments/{assignment.id}/{kind}s/{path.name}"

    def entry(self) -> Entry | None:
        tree = parse(self.path, self.where, self.problems)
        if tree is None:
            return None
        before = len(self.problems)
        names = {name for name, _ in names_bound(tree)}
        known = [exercise.id for exercise in self.assignment.exercises]
        defined = tuple(exercise for exercise in known if exercise in names)
        exercise, id_ = self._whose(known, defined)
        sentence = (ast.get_docstring(tree) or "").partition("\n")[0].strip()
        if not sentence:
            told = "what the student is told about it" if self.kind == "mistake" else "what is different about it"
            self._say(f"has no docstring — say in its first line {told}")
        expected = self._expected(tree, defined) if defined else frozenset[str]()
        variations = tuple(self._variations(tree))
        form, line = self._literal(tree, "FORM_OF")
        if form is not None and not (isinstance(form, str) and self.kind == "mistake"):
            self._say("FORM_OF is the id of another mistake, a literal string", line)
        if len(self.problems) > before:
            return None
        file = f"{self.kind}s/{self.path.name}"
        id_ = form if isinstance(form, str) else id_
        return Entry(id_, self.kind, file, exercise, defined, sentence, expected, variations, form is not None)

    def _say(self, sentence: str, line: int = 1) -> None:
        self.problems.append(f"{self.where}:{line}: {sentence}")

    def _whose(self, known: list[str], defined: tuple[str, ...]) -> tuple[str, str]:
        """The exercise and the id: a mistake's file is called <exercise>_<what>.py."""
        stem = self.path.stem
        if not defined:
            self._say(f"defines no exercise — there are: {', '.join(known)}")
            return "", ""
        if self.kind == "variant":
            return defined[0], stem.replace("_", "-")
        prefixes = [exercise for exercise in known if stem.startswith(f"{exercise}_") and stem != f"{exercise}_"]
        exercise = max(prefixes, key=len, default="")
        if exercise not in defined:
            self._say("is named after no exercise that it defines — call it <exercise>_<what is wrong>.py")
            return "", ""
        return exercise, stem.removeprefix(f"{exercise}_").replace("_", "-")

    def _expected(self, tree: ast.Module, defined: tuple[str, ...]) -> frozenset[str]:
        """FAILS or MISSES: checks that exist, of exercises that the file defines; a variant loses no core point."""
        key = "FAILS" if self.kind == "mistake" else "MISSES"
        told = len(self.problems)
        ids, line = self._literal(tree, key)
        if len(self.problems) > told:
            return frozenset()
        checks = {check.id: check for check in self.assignment.hidden_checks if check.exercise in defined}
        if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
            if ids is not None or self.kind == "mistake":
                self._say(f"{key} is no list of check ids — write {key} = [...] as a literal", line)
            return frozenset()
        for id_ in ids:
            if id_ not in checks:
                near = did_you_mean(id_, checks) or " — an entry is judged on the exercises that it defines"
                self._say(f"{key} names {id_!r}, which is no hidden check of these{near}", line)
            elif self.kind == "variant" and not checks[id_].stretch:
                self._say(f"MISSES names {id_!r}, which is core: a variant has full marks", line)
        if self.kind == "mistake" and not ids:
            self._say("FAILS is empty: a mistake that loses nothing is none", line)
        return frozenset(ids)

    def _literal(self, tree: ast.Module, name: str) -> tuple[object, int]:
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
                try:
                    value: object = ast.literal_eval(statement.value)
                except (ValueError, TypeError):  # the second for what no dict can have as a key
                    self._say(f"{name} is no literal — write its values out", statement.lineno)
                    return None, statement.lineno
                return value, statement.lineno
        return None, 1

    def _variations(self, tree: ast.Module) -> Iterator[Variation]:
        """The file, and for each value in VARY the file with that constant."""
        text = self.path.read_text(encoding="utf-8-sig")
        yield Variation("", text)
        vary, line = self._literal(tree, "VARY")
        if vary is None:
            return
        if not isinstance(vary, dict) or not all(isinstance(values, list) for values in vary.values()):
            self._say('VARY is no dict of lists — write VARY = {"EPS": [1e-12, 1e-6]}', line)
            return
        for name, values in vary.items():
            statement = next(
                (s for s in tree.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name), None
            )
            if statement is None:
                self._say(f"VARY names {name!r}, which the file does not assign at its top level", line)
                continue
            for value in values:
                yield Variation(f"{name} = {value!r}", _with(text, statement.value, repr(value)))


def _with(text: str, old: ast.expr, new: str) -> str:
    """``text`` with the expression ``old`` replaced; positions of syntax trees count bytes of UTF-8."""
    lines = text.split("\n")  # not splitlines: a form feed, or a separator inside a string, ends no line of Python
    assert old.end_lineno is not None
    assert old.end_col_offset is not None
    head = lines[old.lineno - 1].encode()[: old.col_offset].decode()
    tail = lines[old.end_lineno - 1].encode()[old.end_col_offset :].decode()
    return "\n".join([*lines[: old.lineno - 1], head + new + tail, *lines[old.end_lineno :]])
