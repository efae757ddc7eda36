"""The command line as a user meets it: sentences, exit codes, one JSON document, nothing heavy for help."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.cli import cli
from tests.arena import SOLVED, sign, trio

COMMANDS = sorted(cli.commands)


def grader(*arguments: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",  # what comes back may be in the encoding that a test asked for
        check=False,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one assignment, its release, and two submissions."""
    root = tmp_path_factory.mktemp("course")
    sign(trio(root), PROBES, {("triple", "kept"): "def triple(x): return x", ("double", "kept"): "double = abs"})
    (root / "in").mkdir()
    (root / "in" / "ada.py").write_text(SOLVED, encoding="utf-8")
    (root / "in" / "bob.py").write_text(SOLVED.replace("x * 3", "x"), encoding="utf-8")
    done = grader("release", cwd=root)
    assert done.returncode == 0, done.stderr
    return root


PROBES = """\
import torch
from grader.probe import call
PROBES = {name: {"pair": call(torch.tensor([1.0, 5.0]))} for name in ("double", "triple")}
"""
PROCESS = ("--isolation", "process", "--accept-unsandboxed")


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    """Help and usage errors must not wait for torch."""
    code = "import sys, grader.cli; print([m for m in ('torch', 'pytest', 'rich', 'jinja2') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_help_names_every_command_and_every_exit_code(tmp_path: Path) -> None:
    """Both `grader --help` and the help of each command answer with 0, anywhere."""
    done = grader("--help", cwd=tmp_path)

    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name in COMMANDS)
    assert all(f"{code} " in done.stdout for code in ("0", "1", "2", "3", "4", "5", "130"))
    for name in COMMANDS:
        assert grader(name, "--help", cwd=tmp_path).returncode == 0


def test_grade_prints_a_table_and_where_results_lie(course: Path, tmp_path: Path) -> None:
    """Scores on standard output, progress on standard error, exit code 0 though somebody lost points."""
    done = grader("grade", "trio", "in", "--out", tmp_path / "out", *PROCESS, cwd=course)

    assert done.returncode == 0, done.stderr
    assert "ada" in done.stdout
    assert "6/6" in done.stdout
    assert "4/6" in done.stdout
    assert "triple 2/2: kept" in done.stdout  # the mistake of the gallery that bob's answers are
    assert "scores.json" in done.stdout
    assert "! graded without a sandbox" in done.stdout
    assert "graded 2 of 2" in done.stderr


def test_grade_json_is_one_document_and_nothing_else(course: Path, tmp_path: Path) -> None:
    """Standard output parses as a whole and equals scores.json."""
    done = grader("grade", "trio", "in", "--out", tmp_path / "out", *PROCESS, "--json", cwd=course)

    document = json.loads(done.stdout)

    assert {score["student"]: score["points"] for score in document["scores"]} == {"ada": 6.0, "bob": 4.0}
    assert {score["student"]: score["mistakes"] for score in document["scores"]} == {
        "ada": [],
        "bob": [{"id": "kept", "exercise": "triple", "message": "The mistake kept in triple."}],
    }
    assert done.stdout == (tmp_path / "out" / "scores.json").read_text(encoding="utf-8")


def test_a_name_cannot_colour_or_move_the_terminal(course: Path, tmp_path: Path) -> None:
    """A student id is text: neither escape sequences nor the table's own markup in it take effect."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "[bold]eve\x1b[2J.py").write_text(SOLVED, encoding="utf-8")

    done = grader("grade", "trio", tmp_path / "in", "--out", tmp_path / "out", *PROCESS, cwd=course)

    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "[bold]eve" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["grade", "trio", "in", "--out", "x", "--isolation", "jail"], 2, "unknown isolation `jail`"),
        (["grade", "trio", "in", "--out", "x", "--isolation", "process"], 5, "--accept-unsandboxed"),
        (["grade", "tri", "in", "--out", "x", *PROCESS], 2, "trio"),
        (["grade", "trio", "nowhere", "--out", "x", *PROCESS], 2, "nowhere"),
        (["grade", "trio", "in", "--out", "in", *PROCESS], 2, "is not a results folder"),
        (["grade", "trio", "in", *PROCESS], 2, "--out"),
        (["grade", "trio"], 2, "SUBMISSIONS"),
        (["release", "nope"], 2, "nope"),
        (["check", "."], 2, "is not a release folder"),
        (["check", "release/trio", "--only", "treble"], 2, "double, triple, negate"),
        (["chek"], 2, "chek"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_its_exit_code(
    course: Path, arguments: list[str], code: int, sentence: str
) -> None:
    """No traceback, nothing on standard output, nothing made on disk."""
    before = sorted(course.rglob("*"))

    done = grader(*arguments, cwd=course)

    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(course.rglob("*")) == before


def test_check_tells_failures_and_the_number_of_hidden_checks(course: Path) -> None:
    """The stub fails with exit code 1, says what is not written, and never sounds like a full pass."""
    done = grader("check", "release/trio", cwd=course)

    assert done.returncode == 1
    assert "`double` is not written yet" in done.stdout
    assert "0 of 1 public checks passed; 6 hidden checks will grade your file." in done.stdout


def test_check_of_a_solved_file_exits_with_0(course: Path, tmp_path: Path) -> None:
    """And says that public checks are not all there is."""
    folder = tmp_path / "my träio folder"
    folder.mkdir()
    for path in (course / "release" / "trio").rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(course / "release" / "trio")
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    (folder / "trio.py").write_text(SOLVED, encoding="utf-8")

    done = grader("check", cwd=folder)
    as_json = grader("check", "trio.py", "--json", cwd=folder)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 1 of 1 public checks passed; 6 hidden checks will grade your file." in done.stdout
    document = json.loads(as_json.stdout)
    assert document["checks"] == [{"id": "double/first", "outcome": "passed", "evidence": None}]
    assert document["mistakes"] == []


def test_check_names_a_known_mistake(course: Path, tmp_path: Path) -> None:
    """Below the failure that it explains, and in the document."""
    folder = Path(shutil.copytree(course / "release" / "trio", tmp_path / "mine"))
    (folder / "trio.py").write_text(SOLVED.replace("x * 2", "x"), encoding="utf-8")

    done = grader("check", cwd=folder)
    as_json = grader("check", "--json", cwd=folder)

    assert done.returncode == 1
    assert "\n  why   The mistake kept in double.\n" in done.stdout
    document = json.loads(as_json.stdout)
    assert document["mistakes"] == [{"id": "kept", "exercise": "double", "message": "The mistake kept in double."}]
    assert [check["outcome"] for check in document["checks"]] == ["failed"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_does_not_stop_a_command(course: Path, encoding: str) -> None:
    """What cannot be shown is replaced, not fatal."""
    done = grader("check", "release/trio", cwd=course, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})

    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_a_syntax_error_at_home_is_told_with_its_line(course: Path, tmp_path: Path) -> None:
    """Exit code 4: the file cannot be read as Python."""
    for name in ("manifest.json", "checks/checks.json", "checks/expected.json", "checks/test_public.py"):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((course / "release" / "trio" / name).read_bytes())
    (tmp_path / "trio.py").write_text("import torch\ndef double(x)\n", encoding="utf-8")

    done = grader("check", cwd=tmp_path)

    assert done.returncode == 4
    assert "trio.py" in done.stderr
    assert "line 2" in done.stderr


def test_release_check_tells_what_is_out_of_date(course: Path) -> None:
    """Exit code 1 and the file's name after a change; 0 before and after the next release."""
    stub = course / "release" / "trio" / "trio.py"
    original = stub.read_bytes()
    assert grader("release", "--check", cwd=course).returncode == 0

    stub.write_bytes(original + b"# changed\n")
    done = grader("release", "--check", cwd=course)
    grader("release", cwd=course)

    assert done.returncode == 1
    assert "trio.py differs" in done.stderr
    assert stub.read_bytes() == original


def test_every_mistake_of_an_assignment_is_listed(course: Path, tmp_path: Path) -> None:
    """Two mistakes, two lines, exit code 2."""
    folder = trio(tmp_path)
    toml = folder / "assignment.toml"
    text = (
        toml.read_text(encoding="utf-8")
        .replace('title = "triple"', 'titel = "triple"')
        .replace("schema = 1", "schema = 9")
    )
    toml.write_text(text, encoding="utf-8")

    done = grader("release", cwd=tmp_path)

    assert done.returncode == 2
    assert "titel" in done.stderr
    assert "schema" in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_keeps_what_was_graded(tmp_path: Path) -> None:
    """An interrupted grading leaves closed runs, no processes, and goes on when it is run again."""
    trio(tmp_path, call_s=5)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.py").write_text(SOLVED, encoding="utf-8")
    (tmp_path / "in" / "loop.py").write_text(SOLVED.replace("return x * 2", "while True: pass"), encoding="utf-8")
    command = [sys.executable, "-m", "grader", "grade", "trio", "in", "--out", "out", *PROCESS, "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out/runs/loop").exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)

    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert (tmp_path / "out/runs/ada/0001.json").exists()
    assert not list((tmp_path / "out/runs/loop").glob("*.json"))
    again = grader(*command[3:], cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "1 were graded before" in again.stdout
