"""A class of submissions to `losses`, made from its solution, stub, mistakes and variants, and broken in usual ways."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from grader import spec
from grader.gallery import read_gallery
from grader.model import Assignment
from grader.stubs import make_stub

__all__ = ["Entry", "sample_class"]

MISTAKES = (
    "logsumexp_maximum_not_added_back",
    "logsumexp_detached_shift",
    "logsumexp_last_axis_only",
    "log_softmax_no_shift",
    "cross_entropy_log_of_softmax",
    "cross_entropy_softmax_twice",
    "cross_entropy_mean_counts_ignored",
    "bce_with_logits_eps_in_log",
    "bce_with_logits_relu_kink",
)
VARIANTS = 3


class Entry(msgspec.Struct, frozen=True):
    """One submission: how to write it, and the points it deserves."""

    name: str
    write: Callable[[Path], object]
    points: float
    bonus: float


def sample_class(assignment: Assignment) -> list[Entry]:
    """The class, in order. What each deserves follows from the assignment's points and the gallery's own lists."""
    solution = Path(assignment.solution).read_text(encoding="utf-8")
    stub = make_stub(solution.encode(), assignment.file).decode()
    full = sum(check.points for check in assignment.hidden_checks if not check.stretch)
    bonus = sum(check.points for check in assignment.hidden_checks if check.stretch)
    second = assignment.exercises[1].id
    half = sum(c.points for c in assignment.hidden_checks if c.exercise != second and not c.stretch)
    half_bonus = sum(c.points for c in assignment.hidden_checks if c.exercise != second and c.stretch)

    def broken(body: str) -> str:
        """The solution with ``body`` as the first statement of its second exercise."""
        return re.sub(rf"(def {second}\(.*?\)[^:\n]*:\n)", rf"\1    {body}\n", solution, count=1, flags=re.DOTALL)

    def completed(source: str) -> str:
        """A file of the gallery with what it does not define from the solution, which goes on calling its own."""
        for exercise in assignment.exercises:
            source = f"right_{exercise.id} = {exercise.id}\n{source}"
        calls = "|".join(exercise.id for exercise in assignment.exercises)
        return re.sub(rf"(?<!def )(?<![\w.])({calls})\(", r"right_\1(", solution) + "\n\n" + source

    def text(source: str, encoding: str = "utf-8") -> Callable[[Path], object]:
        return lambda path: path.with_name(f"{path.name}.py").write_bytes(source.encode(encoding))

    def inside(name: str, source: str) -> Callable[[Path], object]:
        def write(path: Path) -> None:
            (path / name).parent.mkdir(parents=True)
            (path / name).write_text(source, encoding="utf-8")

        return write

    def zipped(path: Path) -> None:
        with zipfile.ZipFile(path.with_name(f"{path.name}.zip"), "w") as archive:
            archive.writestr(f"my work/{assignment.file}", solution)

    def notebook(path: Path) -> None:
        cell: dict[str, object] = {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": solution,
        }
        document = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.with_name(f"{path.name}.ipynb").write_text(json.dumps(document), encoding="utf-8")

    entries = [
        Entry("solution", text(solution), full, bonus),
        Entry("stub", text(stub), 0, 0),
        Entry("as-notebook", notebook, full, bonus),
        Entry("as-zip", zipped, full, bonus),
        Entry("in-nested-folders", inside(f"a/b/{assignment.file}", solution), full, bonus),
        Entry("under-another-name", inside("final_version_2.py", solution), full, bonus),
        Entry("with-bom", text(solution, "utf-8-sig"), full, bonus),
        Entry("with-crlf", text(solution.replace("\n", "\r\n")), full, bonus),
        Entry("in-latin-1", text("# André\n" + solution.encode("ascii", "replace").decode(), "latin-1"), full, bonus),
        Entry("with-a-syntax-error", text(solution + "\ndef more(:\n    pass\n"), 0, 0),
        Entry("raises-at-import", text("import no_such_package\n" + solution), full, bonus),
        Entry("without-one-function", text(solution.replace(f"def {second}(", f"def {second}_(")), half, half_bonus),
        Entry("loops-in-one-function", text(broken("while True: pass")), half, half_bonus),
        Entry("kills-its-process", text(broken("import os; os.kill(os.getpid(), 9)")), half, half_bonus),
        Entry("exhausts-memory", text(broken("hoard = [bytearray(2**28) for _ in range(64)]")), half, half_bonus),
    ]
    gallery = {Path(shown.file).stem: shown for shown in read_gallery(assignment)}
    variants = [name for name, shown in gallery.items() if shown.kind == "variant"][:VARIANTS]
    for name in (*MISTAKES, *variants):
        shown = gallery[name]
        deserved = [check for check in assignment.hidden_checks if check.id not in shown.expected]
        points = sum(check.points for check in deserved if not check.stretch)
        extra = sum(check.points for check in deserved if check.stretch)
        label = f"{shown.kind}-{name.replace('_', '-')}"
        entries.append(Entry(label, text(completed(shown.variations[0].source)), points, extra))
    return [msgspec.structs.replace(entry, name=f"{i:02d}-{entry.name}") for i, entry in enumerate(entries, 1)]


def write(entries: list[Entry], folder: Path) -> None:
    """Hand all of them in, below ``folder``."""
    folder.mkdir(parents=True)
    for entry in entries:
        entry.write(folder / entry.name)


def losses(root: Path) -> Assignment:
    """The shipped assignment."""
    return spec.load(root / "assignments" / "losses")
