"""``grader new``: a small assignment that works from the first minute, to be replaced file by file."""

from __future__ import annotations

import keyword
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

import jinja2

from grader.errors import UsageError
from grader.store import write_atomically

__all__ = ["new"]

ENDING = ".jinja"
TAKEN = sys.stdlib_module_names | {"grader", "pytest", "torch"}  # a student's folder comes first on the path


def new(course: Path, assignment: str) -> list[Path]:
    """Make ``assignments/<id>`` and ``solutions/<id>`` in ``course`` (a folder that exists); the files made.

    Raises UsageError for an id that no module can have, or that is taken; then nothing is written.
    """
    sound = assignment.isidentifier() and not keyword.iskeyword(assignment) and assignment == assignment.lower()
    if not sound or assignment.startswith("_") or assignment in TAKEN:
        raise UsageError(
            f"{assignment!r} cannot be an assignment's id: students import a file of that name —"
            " use lower-case letters, digits and underscores, like `losses`, and no name of a library"
        )
    for home in ("assignments", "solutions"):
        if (course / home / assignment).exists():
            raise UsageError(f"{course / home / assignment} exists already — choose another id, or remove it first")
    title = assignment.replace("_", " ").capitalize()
    made = []
    for name, template in _templates():
        home, *rest = PurePosixPath(name.removesuffix(ENDING)).parts
        path = course.joinpath(home, assignment, *rest)
        if home == "solutions":
            path = path.with_name(f"{assignment}.py")
        text = jinja2.Template(template, keep_trailing_newline=True, undefined=jinja2.StrictUndefined).render(
            id=assignment, title=title
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
        made.append(path)
    return made


def _templates() -> list[tuple[str, str]]:
    """Relative path and text of every template, sorted."""
    found: list[tuple[str, str]] = []

    def walk(folder: Traversable, path: str) -> None:
        for item in folder.iterdir():
            if item.is_dir():
                walk(item, f"{path}{item.name}/")
            elif item.name.endswith(ENDING):
                found.append((path + item.name, item.read_text(encoding="utf-8")))

    walk(files("grader") / "templates" / "new", "")
    return sorted(found)
