"""`check` in a notebook: an exercise's public checks on the functions that the kernel holds.

This one call is a tests cell of nbgrader, for which standard error means that the cell has failed. So a failure is
written there, where `nbgrader validate` reads it, and nothing else ever is.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import torch

from grader.choice import notebook_name
from grader.compare import fail
from grader.diagnose import read_signatures
from grader.errors import GraderError, UsageError
from grader.handle import Handle, LocalHandle, read_scenarios
from grader.local import Diagnoses, checks_of, open_reference
from grader.manifest import MANIFEST, read_table
from grader.message import failure_text
from grader.model import Assignment, Check
from grader.plain import printable
from grader.session import Checks, with_checks
from grader.student import StudentModule

__all__ = ["NotebookHandle", "check"]

WIDTH = 83  # characters: `nbgrader validate` cuts longer lines
LEVELS = 2  # folders above the current one that are looked into for the release


class NotebookHandle(LocalHandle):
    """The functions of a live namespace: whatever their names mean at the time of the call."""

    def __init__(self, module: ModuleType, scenarios: str | None, forbidden: Mapping[str, Sequence[str]]) -> None:
        Handle.__init__(self, "", "its cell", scenarios, forbidden)
        self._module = StudentModule.around(module)
        self.notes = ()

    def explain(self, name: str, reply: dict[str, Any], instead: str) -> Any:
        """See Handle.explain."""
        if "missing" in reply:
            fail(f"there is no function `{name}` yet: run the cell that defines it", "missing")
        return super().explain(name, reply, instead)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        # Every cell is a file of its own to Python; lines are told of the one that holds the function itself.
        found = vars(self._module.module).get(message["name"])
        found = inspect.unwrap(found) if callable(found) else None
        here = getattr(found, "__module__", None) == self._module.module.__name__
        self._module.file = getattr(getattr(found, "__code__", None), "co_filename", "") if here else ""
        return super()._answer(message)

    def _line(self, told: object) -> int | None:
        return told if type(told) is int else None


def check(exercise: str) -> None:
    """Run the public checks of ``exercise`` on the notebook's functions, and say what came of it.

    One line on standard output if all pass; otherwise, on standard error, each failing check, or why none could run.
    Raises GraderError where nbgrader is about to give points for it: they are earned by hidden checks.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise GraderError(
            "nbgrader runs without the grader's configuration: public checks give no points."
            " The course's nbgrader_config.py has to name the grader's preprocessors"
        )
    try:
        passed, text = _report(exercise, sys.modules["__main__"])
    except GraderError as error:
        passed, text = False, str(error)
    stream = sys.stdout if passed else sys.stderr
    stream.write("".join(f"{line}\n" for line in _wrapped(text)))


def _report(exercise: str, module: ModuleType) -> tuple[bool, str]:
    """Whether the public checks pass, and what to say. Raises GraderError."""
    folder = _release_folder(Path.cwd())
    table = read_table(folder)
    checks = checks_of(folder, table, exercise)
    if not checks:
        return True, f"`{exercise}` has no public checks; hidden ones will grade it"
    failures = _failures(checks, folder, table.assignment, module)
    passed = f"{len(checks) - len(failures)} of {len(checks)} public checks of `{exercise}` passed"
    if failures:
        return False, "\n\n".join([*failures, passed])
    return True, f"✓ {passed}" + ("; hidden checks grade it" if table.hidden.get(exercise) else "")


def _release_folder(start: Path) -> Path:
    """The folder with the manifest: ``start``, or one a little above. Raises UsageError."""
    for folder in [start, *start.parents][: LEVELS + 1]:
        if (folder / MANIFEST).is_file():
            return folder
    raise UsageError(
        f"{start} is not a release folder: it has no {MANIFEST}. Keep the notebook in the folder you were given"
    )


def _failures(checks: list[Check], folder: Path, assignment: Assignment, module: ModuleType) -> list[str]:
    """What to say of each check that does not pass."""
    handle = NotebookHandle(module, read_scenarios(folder / "checks"), assignment.forbidden)
    diagnoses = Diagnoses(handle, read_signatures(folder / "checks"))
    file = notebook_name(assignment)
    failed: dict[str, str] = {}

    def body(session: Checks) -> None:
        for item in checks:
            if failed.keys() & set(item.needs):
                failed[item.id] = f"- {item.id} was not tried: it builds on {' and '.join(item.needs)}"
                continue
            seen = session.play(item, handle)
            if seen.evidence is not None:
                evidence = msgspec.structs.replace(seen.evidence, line=None)  # its number is that of a cell's line
                mistakes = diagnoses.of(item.exercise, seen.kind)
                failed[item.id] = f"✗ {failure_text(item, file, evidence, mistakes)}"

    with _as_in_a_fresh_kernel():
        with_checks(folder, checks, open_reference(folder), body)
    return list(failed.values())


@contextlib.contextmanager
def _as_in_a_fresh_kernel() -> Iterator[None]:
    """What cells may have set, and what checks set, is as it was at the end; nothing is written to standard error."""
    dtype, state = torch.get_default_dtype(), random.getstate()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad(), contextlib.redirect_stderr(sys.stdout):
            yield
    finally:
        torch.set_default_dtype(dtype)
        random.setstate(state)


def _wrapped(text: str) -> Iterator[str]:
    """The lines of ``text``, printable and cut to WIDTH; what goes on in a second line is indented like the first."""
    for line in text.split("\n"):
        indent = re.match(r"[-✗] |( {6}\w+)? *", line)
        hanging = " " * len(indent[0] if indent else "")
        yield from textwrap.wrap(
            printable(line), WIDTH, subsequent_indent=hanging, break_on_hyphens=False, tabsize=1
        ) or [""]
