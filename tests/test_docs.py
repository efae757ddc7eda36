"""The documentation says what is so: every command exists, every shown command runs, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import spec
from grader.cells import to_notebook
from grader.cli import cli
from grader.grade import grade
from grader.model import Limits, Outcome

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(page: Path) -> list[str]:
    """The lines of a page's console blocks that begin with "$ ", comments cut off."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line.partition("  #")[0].strip() for line in lines]


def test_every_command_is_in_the_readme() -> None:
    """A command nobody tells of does not exist."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [name for name in cli.commands if f"grader {name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """Relative links of a page exist."""
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_outcome_and_limit_is_documented() -> None:
    """The words of the JSON document and the keys of [limits] stand in docs/."""
    formats = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assignments = (ROOT / "docs" / "assignments.md").read_text(encoding="utf-8")

    assert [outcome for outcome in Outcome if f"`{outcome}`" not in formats] == []
    assert [name for name in Limits.__struct_fields__ if f"`{name}`" not in assignments] == []


def test_make_targets_of_the_readme_exist() -> None:
    """`make demo` and `make test` are the two commands that must always work."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {line.split()[1] for page in PAGES for line in commands(page) if line.startswith("make ")}

    assert targets >= {"demo", "test"}
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, flags=re.MULTILINE)] == []


def test_the_committed_release_is_current() -> None:
    """What students are given is what the assignment makes."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", "release", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_assignment_in_the_docs_works(tmp_path: Path) -> None:
    """Played as the page says, from `grader new` to the gate: it holds strictly, and grades as it should."""
    page = (ROOT / "docs" / "assignments.md").read_text(encoding="utf-8")
    files = re.findall(
        r"^`((?:assignments|solutions)/[^`]+)`[^`\n]*(?:\n[^`\n]+)?:\n\n```\w+\n(.*?)```",
        page,
        re.DOTALL | re.MULTILINE,
    )
    shown = commands(ROOT / "docs" / "assignments.md")
    start, rest = shown.index("grader new halves"), shown.index("grader verify halves --strict") - 1

    def play(lines: list[str]) -> None:
        for line in lines:
            program = f"{shlex.quote(sys.executable)} -m {line}" if line.startswith("grader ") else line
            done = subprocess.run(program, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"

    play(shown[start:rest])
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    play(shown[rest:])
    (tmp_path / "in").mkdir()
    shutil.copy(tmp_path / "solutions/halves/halves.py", tmp_path / "in" / "solved.py")
    shutil.copy(tmp_path / "release/halves/halves.py", tmp_path / "in" / "stub.py")
    shutil.copy(tmp_path / "assignments/halves/mistakes/half_floored.py", tmp_path / "in" / "floored.py")
    report = grade(
        tmp_path, "halves", [tmp_path / "in"], tmp_path / "out", jobs=1, tier="process", accept_unsandboxed=True
    )

    assert len(files) == 10
    assert {score.student: score.points for score in report.scores} == {"solved": 3.0, "stub": 0.0, "floored": 0.0}
    assert [found.id for score in report.scores for found in score.mistakes] == ["floored"]


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    """Each `grader` and `pytest` line of the README works in a copy of the course, in the order shown."""
    for name in ("assignments", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "SUBMISSIONS").mkdir()
    shutil.copy(ROOT / "solutions" / "losses" / "losses.py", tmp_path / "SUBMISSIONS" / "ada.py")
    lines = [line for line in commands(ROOT / "README.md") if line.startswith(("grader ", "pytest"))]
    made = subprocess.run([sys.executable, "-m", "grader", "release"], cwd=tmp_path, check=False)
    assert made.returncode == 0
    home = tmp_path / "losses"  # a student's copy, solved both ways
    shutil.copytree(tmp_path / "release" / "losses", home)
    solved = (ROOT / "solutions" / "losses" / "losses.py").read_text(encoding="utf-8")
    (home / "losses.py").write_text(solved, encoding="utf-8")
    (home / "losses.ipynb").write_bytes(to_notebook(solved, spec.load(tmp_path / "assignments" / "losses"), ""))

    for line in lines:
        program, *arguments = shlex.split(line)
        at_home = program == "pytest" or arguments[0] == "check"
        done = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=home if at_home else tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"

    assert (tmp_path / "results" / "scores.json").exists()
