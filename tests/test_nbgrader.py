"""nbgrader's own commands on the notebooks that are made here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from grader import spec
from grader.cells import to_notebook
from grader.model import Assignment
from grader.release import build, write
from grader.stubs import make_stub
from tests import assignment_builder

LOSSES = Path(__file__).parents[1] / "assignments" / "losses"


def _notebook(assignment: Assignment, *, solved: bool) -> bytes:
    source = Path(assignment.solution).read_bytes()
    text = source if solved else make_stub(source, assignment.file)
    return to_notebook(text.decode(), assignment, f"# {assignment.title}\n")


def _marked(data: bytes) -> dict[str, Any]:
    """Cells with nbgrader's marks by their id."""
    found = nbformat.reads(data.decode(), as_version=4)
    return {cell.metadata.nbgrader.grade_id: cell for cell in found.cells if "nbgrader" in cell.metadata}


def _nbgrader(folder: Path, *arguments: str) -> str:
    """What the command prints, run in ``folder`` with no configuration but that; it must exit with 0."""
    apart = {f"JUPYTER_{name}_DIR": str(folder / ".jupyter") for name in ("CONFIG", "DATA", "RUNTIME")}
    apart |= {"HOME": str(folder), "IPYTHONDIR": str(folder / ".ipython")}
    apart["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where it looks for alembic
    program = "from nbgrader.apps.nbgraderapp import main; main()"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | apart, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("solved", [True, False])
def test_the_schemas_hold(solved: bool) -> None:
    """Jupyter's for the notebook, nbgrader's for its marks: ids are unique, and what earns points says how many."""
    assignment = spec.load(LOSSES)
    data = _notebook(assignment, solved=solved)
    found = nbformat.reads(data.decode(), as_version=4)
    nbformat.validate(found)
    MetadataValidator().validate_nb(found)
    ids = [exercise.id for exercise in assignment.exercises]
    assert set(_marked(data)) >= {*ids, *(f"{name}-tests" for name in ids)}


@pytest.mark.slow
def test_generate_assignment(tmp_path: Path) -> None:
    """From the solved notebook comes the student's, with everything but the solutions.

    A student's notebook in its place is accepted too, but is no use there: nbgrader empties solution cells that hold
    no marker, signature and docstring included.
    """
    assignment = spec.load(LOSSES)
    source = tmp_path / "source" / "losses"
    source.mkdir(parents=True)
    (source / "losses.ipynb").write_bytes(_notebook(assignment, solved=True))
    (source / "stub.ipynb").write_bytes(_notebook(assignment, solved=False))

    _nbgrader(tmp_path, "generate_assignment", "losses")

    release = tmp_path / "release" / "losses"
    marked, stub = (_marked((release / name).read_bytes()) for name in ("losses.ipynb", "stub.ipynb"))
    solved = _marked(_notebook(assignment, solved=True))
    ours = _marked(_notebook(assignment, solved=False))
    assert list(marked) == list(solved) == list(stub)
    for exercise in assignment.exercises:
        # the stub of nbgrader's making says the same as ours, but for the function's name in the exception
        told = ours[exercise.id].source.replace(f'Error("{exercise.id}")', "Error()")
        assert marked[exercise.id].source == told
        assert stub[exercise.id].source == "# YOUR CODE HERE\nraise NotImplementedError()"
        for tests in (marked[f"{exercise.id}-tests"], stub[f"{exercise.id}-tests"]):
            assert tests.source == f'from grader import check\n\ncheck("{exercise.id}")'
            assert (tests.metadata.nbgrader.points, tests.metadata.nbgrader.locked) == (exercise.points, True)
            assert tests.metadata.editable is False


@pytest.mark.slow
def test_validate(tmp_path: Path) -> None:
    """It shows our sentences for what is not solved, whole, and says that the solved notebook passes."""
    assignment = spec.load(assignment_builder.build(tmp_path / "course"))
    folder = tmp_path / "halves"
    write(build(assignment), folder)
    (folder / "halves.ipynb").write_bytes(_notebook(assignment, solved=False))
    (folder / "solved.ipynb").write_bytes(_notebook(assignment, solved=True))

    printed = _nbgrader(folder, "validate", "halves.ipynb", "solved.ipynb")

    assert printed.count("The following cell failed:") == 1  # `quarter` has no public checks
    assert (
        "The error was:\n\n"
        "    ✗ half/small\n"
        "      Half of 1, 2 and 3\n"
        "    \n"
        "      halves.ipynb · `half` is not written yet: it raises NotImplementedError\n"
        "    \n"
        "          call      half([1, 2, 3] float32[3])\n"
        "    \n"
        "    0 of 1 public checks of `half` passed\n"
    ) in printed
    assert printed.endswith("Success! Your notebook passes all the tests.\n")
