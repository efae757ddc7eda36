"""Plain `pytest` in a release folder says what `grader check` says, in the same words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import local, spec
from grader.errors import UnreadableSubmission
from grader.message import failure_text
from grader.model import Check, MistakeFound, Outcome
from grader.release import build, write
from grader.session import Observation
from tests import assignment_builder
from tests.arena import sign
from tests.assignment_builder import FILES
from tests.test_local import MISTAKES, PROBES, SMALL, solve
from tests.test_release import MORE_PUBLIC, MORE_TOML, PUBLIC, TOML

OTHER = FILES[PUBLIC].replace('"half"', '"quarter"').replace("half", "quarter").replace("Half", "A quarter")
OTHER_TOML = '\n[checks."quarter/small"]\nhints = ["Divide."]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A release with two check files, which hold a function of the same name for different exercises."""
    overrides = {
        PUBLIC: FILES[PUBLIC] + MORE_PUBLIC,
        "assignments/halves/checks/public/test_other.py": OTHER,
        TOML: FILES[TOML] + MORE_TOML + OTHER_TOML,
    }
    assignment = assignment_builder.build(tmp_path, overrides)
    sign(assignment, PROBES, MISTAKES)
    write(build(spec.load(assignment)), tmp_path / "release")
    return tmp_path / "release"


def plain(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Plain pytest as a student runs it, in the folder."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")
    }  # its summary
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options], cwd=folder, capture_output=True,
        text=True, check=False, timeout=300, encoding="utf-8", env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def ours(folder: Path) -> tuple[dict[str, Outcome], list[str]]:
    """The outcomes of `grader check`, and the words for each failure."""
    outcomes: dict[str, Outcome] = {}
    words: list[str] = []

    def tell(check: Check, seen: Observation, mistakes: tuple[MistakeFound, ...]) -> None:
        outcomes[check.id] = seen.outcome
        if seen.evidence is not None:
            words.append(failure_text(check, "halves.py", seen.evidence, mistakes))

    local.check(folder, None, stop_at_first=False, tell=tell)
    return outcomes, words


def test_failures_are_told_in_the_same_words(folder: Path) -> None:
    """The same checks, titles, inputs and sentences as `grader check`; nothing of the grader's own code is shown."""
    stub = (folder / "halves.py").read_text(encoding="utf-8")
    half = 'raise NotImplementedError("half")'
    (folder / "halves.py").write_text(stub.replace(half, "return x * 0.75"), encoding="utf-8")

    process = plain(folder, "--color=no")

    outcomes, words = ours(folder)
    assert process.returncode == 1, process.stdout
    assert outcomes == {
        "half/small": Outcome.FAILED, "quarter/small": Outcome.ERRORED, "quarter/first": Outcome.ERRORED,
        "quarter/some": Outcome.SKIPPED,
    }  # fmt: skip
    assert len(words) == 3
    for text in words:
        assert text in process.stdout
    assert process.stdout.count("quarter/some   [2]\n  A quarter of some numbers") == 1  # plain pytest knows no `needs`
    assert "5 failed" in process.stdout
    assert "Traceback" not in process.stdout + process.stderr
    assert "CheckFailure" not in process.stdout
    assert "grader/" not in process.stdout


def test_a_known_mistake_is_named_in_the_same_words(folder: Path) -> None:
    """The sentence of the gallery stands below each failed check of its exercise, and only there."""
    solve(folder, half="x", quarter=SMALL)

    process = plain(folder, "--color=no")

    _, words = ours(folder)
    assert process.returncode == 1, process.stdout
    assert [text.splitlines()[-1] for text in words] == [
        "  why   The mistake kept in half.", *["  why   The mistake small-halved in quarter."] * 2,
    ]  # fmt: skip
    for text in words:
        assert text in process.stdout
    # Plain pytest knows no `needs`: the two cases of quarter/some run as well.
    assert process.stdout.count("  why   The mistake small-halved in quarter.") == 4
    assert process.stdout.count("  why   The mistake kept in half.") == 1


def test_a_solved_file_passes(folder: Path) -> None:
    """All of it, without a warning, and nothing is left in the folder but what Python leaves."""
    solve(folder)
    before = {path for path in folder.rglob("*") if path.is_file()}

    process = plain(folder, "--color=no", "-W", "error")

    assert process.returncode == 0, process.stdout
    assert "5 passed" in process.stdout
    assert "warning" not in process.stdout
    assert {path for path in folder.rglob("*") if path.is_file()} == before


def test_a_file_that_is_no_python_is_told_in_a_sentence(folder: Path) -> None:
    """The same sentence as from `grader check`, with the line, instead of a traceback of the grader."""
    (folder / "halves.py").write_text("def half(x):\n    return (x\n", encoding="utf-8")
    with pytest.raises(UnreadableSubmission) as caught:
        ours(folder)

    process = plain(folder, "--color=no", "-x")

    assert process.returncode == 1, process.stdout
    assert str(caught.value) in process.stdout
    assert "line 2" in str(caught.value)
    assert "grader/" not in process.stdout
