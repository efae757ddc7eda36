"""A Python file as a notebook with nbgrader's marks: the student's from the stub, the course's from the solved file.

Each exercise becomes a solution cell with a tests cell below it, whose one call of ``check`` a student can run.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import math
import tokenize
from collections.abc import Iterator
from typing import Any, NamedTuple

from grader.model import Assignment, Exercise
from grader.source import definitions, parse
from grader.stubs import BEGIN, END, PLACEHOLDER

__all__ = ["to_notebook"]

_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_PLAIN, _DEFINITION, _WORK = range(3)  # what a part holds; the larger one counts where parts overlap


class _Part(NamedTuple):
    """Lines of the file for one cell, counted from 1."""

    first: int
    last: int
    kind: int


class _Comment(NamedTuple):
    """A comment alone on its line."""

    line: int
    column: int
    text: str


def to_notebook(text: str, assignment: Assignment, handout: str) -> bytes:
    """The notebook, as Jupyter would write it, of ``text``: a stub, or a solved file with its markers.

    The handout and the module's docstring come first, as Markdown. Code follows in the order of the file: what the
    student writes in solution cells, each other definition in a cell of its own, comments with what they precede.
    An exercise's cell bears its id, and its tests follow; those of exercises that ``text`` does not define (in a stub,
    where a region holds the whole definition) come last. Raises SyntaxError.
    """
    docstring, code = _without_docstring(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    cells = [_markdown("handout", handout)]
    if docstring:
        cells.append(_markdown("docstring", docstring))
    cells += _code_cells(code, assignment.exercises)
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def _without_docstring(text: str) -> tuple[str, str]:
    """The module's docstring, and the lines that are left."""
    match parse(text).body:
        case [ast.Expr(value=ast.Constant(value=str())) as first, *rest]:
            last = first.end_lineno or first.lineno
            if not rest or rest[0].lineno > last:
                lines = text.split("\n")
                del lines[first.lineno - 1 : last]
                return ast.get_docstring(ast.Module([first], [])) or "", "\n".join(lines)
    return "", text


def _code_cells(text: str, exercises: tuple[Exercise, ...]) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")
    defined = definitions(text)
    places = {exercise: defined[exercise.id].lineno for exercise in exercises if exercise.id in defined}
    plain = unnamed = 0
    for part in _parts(text, set(places.values())):
        source = "\n".join(lines[part.first - 1 : part.last]).strip("\n")
        if part.kind == _WORK:
            here = [exercise for exercise, line in places.items() if part.first <= line <= part.last]
            unnamed += not here
            yield _solution(here[0].id if here else f"solution-{unnamed}", source)
            yield from map(_tests, here)
        elif source:
            plain += 1
            yield _code("code", str(plain), source, {})
    yield from (_tests(exercise) for exercise in exercises if exercise not in places)


def _parts(text: str, places: set[int]) -> list[_Part]:
    """The file in its parts, in order: statements, and regions of the top level, with the comments before them.

    The student writes in whatever holds a region, its placeholder, or one of the lines ``places``.
    """
    comments = _comments(text)
    work = places | {comment.line for comment in comments if comment.text in (BEGIN, PLACEHOLDER)}
    end = text.count("\n") + 1
    parts: list[_Part] = []
    for part in sorted([*_statements(text, comments), *_regions(comments), _Part(end, end, _PLAIN)]):
        kind = _WORK if any(part.first <= line <= part.last for line in work) else part.kind
        before = parts[-1] if parts else _Part(1, 0, _DEFINITION)
        if part.first <= before.last or kind == before.kind == _PLAIN:
            parts[-1] = _Part(before.first, max(before.last, part.last), max(before.kind, kind))
        else:
            parts.append(_Part(before.last + 1, part.last, kind))
    return parts


def _comments(text: str) -> list[_Comment]:
    lines = text.split("\n")
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]
    comments = [_Comment(*token.start, token.string.rstrip()) for token in tokens]
    return [comment for comment in comments if not lines[comment.line - 1][: comment.column].strip()]


def _statements(text: str, comments: list[_Comment]) -> Iterator[_Part]:
    """The top-level statements; indented comments below one, such as the end of a region, are still its own."""
    body = parse(text).body
    starts = [min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) for node in body]
    for node, first, following in zip(body, starts, [*starts, math.inf][1:], strict=True):
        last = node.end_lineno or node.lineno
        below = [comment.line for comment in comments if last < comment.line < following and comment.column > 0]
        definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield _Part(first, max([last, *below]), _DEFINITION if definition else _PLAIN)


def _regions(comments: list[_Comment]) -> Iterator[_Part]:
    """The regions of the top level; in a stub, what stands for them."""
    begin = 0
    for comment in comments:
        if comment.column == 0 and comment.text == BEGIN:
            begin = comment.line
        elif comment.column == 0 and comment.text in (END, PLACEHOLDER):
            yield _Part(begin if comment.text == END else comment.line, comment.line, _WORK)


def _markdown(name: str, text: str) -> dict[str, Any]:
    return _cell("markdown", name, text, {})


def _code(kind: str, name: str, source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return _cell("code", kind + name, source, metadata) | {"execution_count": None, "outputs": []}


def _solution(grade_id: str, source: str) -> dict[str, Any]:
    return _code("solution", grade_id, source, {"deletable": False, "nbgrader": _marks(grade_id, solution=True)})


def _tests(exercise: Exercise) -> dict[str, Any]:
    """The call of ``check``, and nothing beside it that could warn: whatever is written to stderr costs the points."""
    points = int(exercise.points) if exercise.points.is_integer() else exercise.points
    marks = _marks(f"{exercise.id}-tests", grade=True, locked=True, points=points)
    source = f'from grader import check\n\ncheck("{exercise.id}")'
    return _code("tests", exercise.id, source, {"deletable": False, "editable": False, "nbgrader": marks})


def _marks(grade_id: str, **more: Any) -> dict[str, Any]:
    """nbgrader's metadata, schema 3."""
    none = dict.fromkeys(("grade", "locked", "solution", "task"), False)
    return {"schema_version": 3, "grade_id": grade_id, **none, **more}


def _cell(kind: str, name: str, source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": kind,
        "id": hashlib.sha256(f"{kind} {name}".encode()).hexdigest()[:8],
        "metadata": metadata,
        "source": source.splitlines(keepends=True),
    }
