"""A slot answers every entry once, keeps its answers apart from all other output, and outlives what one entry does."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from grader import slot, store
from grader.errors import SpecError
from grader.intake import Entry
from grader.isolation import Zygote
from grader.job import Done, Job, Task
from grader.slot import course_of, grade_entries
from grader.store import Results
from tests.arena import CHECKS, PROCESS, SECRET, SOLVED, outcomes, trio

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

NOISE = """
import os, sys
print("reference.py says hello")
os.write(1, b'{"student":"forged","graded":true}\\n')
"""
PRINTING = 'import os\nprint(\'{"student":"ada","graded":true}\')\nos.write(1, b"[]\\n")\n' + SOLVED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trio assignment, with a reference that prints."""
    folder = trio(tmp_path_factory.mktemp("course"), call_s=30.0, memory_mb=1024)
    with (folder / "reference.py").open("a", encoding="utf-8") as file:
        file.write(NOISE)
    return folder


def job(folder: Path, out: Path, *, force: bool = False) -> Job:
    """A job that grades into the new or known RESULTS at ``out``."""
    Results.create(out, "trio", "test")
    return Job(str(folder), str(out), SECRET.hex(), "test", PROCESS, force=force)


def entries(place: Path, sources: dict[str, str]) -> list[Entry]:
    """One file per student below ``place``."""
    place.mkdir(exist_ok=True)
    for student, source in sources.items():
        (place / f"{student}.py").write_text(source, encoding="utf-8")
    return [Entry(student, place / f"{student}.py") for student in sources]


def answers(lines: bytes) -> list[Done]:
    """Every line as a Done."""
    return [msgspec.json.decode(line, type=Done) for line in lines.splitlines()]


@pytest.fixture
def here(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let slots in this process share a zygote that is there already."""
    monkeypatch.setattr(slot, "Zygote", lambda limits: contextlib.nullcontext(zygote))


def graded(one: Job, found: Iterable[Entry]) -> list[Done]:
    """What a slot in this process answers."""
    done = io.BytesIO()
    grade_entries(one, found, done)
    return answers(done.getvalue())


def slot_process(lines: Iterable[bytes], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """A slot as `grade` starts it."""
    return subprocess.run(
        [sys.executable, "-m", "grader.slot"], input=b"".join(line + b"\n" for line in lines), capture_output=True,
        check=False, timeout=300, cwd=cwd,
    )  # fmt: skip


def test_a_slot_over_pipes(folder: Path, tmp_path: Path) -> None:
    """Each task line has its answer, in order, and standard output holds nothing else, whoever prints."""
    found = entries(tmp_path / "in", {"ada": SOLVED, "eve": PRINTING, "bad": "def f(:\n"})
    odd = tmp_path / "in" / os.fsdecode(b"\xff\xfe.py")
    odd.write_text(SOLVED, encoding="utf-8")
    gone = tmp_path / "in" / "gone.py"
    found += [Entry("\ufffd odd\nname", odd), Entry("gone", gone)]
    tasks = [msgspec.json.encode(Task(entry.student, os.fsencode(entry.path))) for entry in found]

    process = slot_process([msgspec.json.encode(job(folder, tmp_path / "out")), *tasks, tasks[0]], tmp_path)

    assert process.returncode == 0, process.stderr.decode()
    expected = [Done(entry.student, graded=True) for entry in found] + [Done("ada", graded=False)]
    assert answers(process.stdout) == expected
    assert b"reference.py says hello" in process.stderr
    results = Results(tmp_path / "out")
    seen = {entry.student: outcomes(results.runs(entry.student)[0]) for entry in found}
    right, unusable = dict.fromkeys(CHECKS, "passed"), dict.fromkeys(CHECKS, "errored")
    assert seen == {"ada": right, "eve": right, "bad": unusable, "\ufffd odd\nname": right, "gone": unusable}
    assert results.runs("eve")[0].output == '{"student":"ada","graded":true}\n[]\n'
    assert results.runs("gone")[0].problem == "`gone.py` cannot be read: No such file or directory"
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_broken_assignment_is_one_answer_without_a_student(tmp_path: Path) -> None:
    """All its mistakes in one sentence and exit code 2; no entry is read."""
    folder = trio(tmp_path / "course", points=5)
    line = msgspec.json.encode(job(folder, tmp_path / "out"))

    process = slot_process([line, b"no task at all"], tmp_path)

    assert process.returncode == 0, process.stderr.decode()
    (answer,) = answers(process.stdout)
    assert (answer.student, answer.graded, answer.exit_code) == ("", False, 2)
    assert answer.error.count("points") == 3


@pytest.mark.usefixtures("here")
def test_graded_before_and_forced(folder: Path, tmp_path: Path) -> None:
    """The same bytes and checks are not graded twice, unless it is forced; other bytes are."""
    found = entries(tmp_path / "in", {"ada": SOLVED})

    assert graded(job(folder, tmp_path / "out"), found) == [Done("ada", graded=True)]
    assert graded(job(folder, tmp_path / "out"), found) == [Done("ada", graded=False)]
    assert graded(job(folder, tmp_path / "out", force=True), found) == [Done("ada", graded=True)]
    found = entries(tmp_path / "in", {"ada": SOLVED + "\n"})
    assert graded(job(folder, tmp_path / "out"), found) == [Done("ada", graded=True)]
    assert [run.id for run in Results(tmp_path / "out").runs("ada")] == ["0001", "0002", "0003"]


@pytest.mark.usefixtures("here")
def test_a_damaged_run_of_one_student_does_not_stop_the_next(folder: Path, tmp_path: Path) -> None:
    """Its student has an answer that says so, with exit code 3; the file is as it was and the others are graded."""
    one = job(folder, tmp_path / "out")
    path = tmp_path / "out" / "runs" / "bob" / "0001.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")

    told = graded(one, entries(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED, "cat": SOLVED}))

    assert [(answer.student, answer.graded, answer.exit_code) for answer in told] == [
        ("ada", True, 0), ("bob", False, 3), ("cat", True, 0),
    ]  # fmt: skip
    assert told[1].error.startswith(f"{path} is not a run")
    assert path.read_bytes() == b"{"


@pytest.mark.usefixtures("here")
def test_a_full_disk_stops_the_slot_with_one_answer(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full for the next student too: exit code 5, no further entry is tried, what was graded stays."""
    one, found = job(folder, tmp_path / "out"), entries(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED, "cat": SOLVED})
    replace = os.replace

    def until_bob(source: Path, target: Path) -> None:
        if "bob" in str(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", until_bob)
        told = graded(one, found)

    assert [(answer.student, answer.exit_code) for answer in told] == [("ada", 0), ("bob", 5)]
    assert "No space left on device" in told[1].error
    assert [answer.graded for answer in graded(one, found)] == [False, True, True]


@pytest.mark.usefixtures("here")
def test_a_full_disk_before_anything_is_written_is_the_entrys_answer(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where not even the journal can be made, or given up: an answer with the student's name, no traceback."""
    one, found = job(folder, tmp_path / "out"), entries(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED})
    (tmp_path / "out" / "runs").write_bytes(b"")  # a file where the folder must be

    told = graded(one, found)

    assert [(answer.student, answer.graded, answer.exit_code) for answer in told] == [("ada", False, 5)]
    (tmp_path / "out" / "runs").unlink()

    def full(path: Path, mode: str) -> io.BufferedWriter:
        return open("/dev/full", "wb")

    with monkeypatch.context() as patch:
        patch.setattr(store, "open", full, raising=False)
        told = graded(one, found)
    assert [(answer.student, answer.graded, answer.exit_code) for answer in told] == [("ada", False, 5)]


@pytest.mark.usefixtures("here")
def test_an_interruption_is_not_swallowed(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C between two entries ends the slot; what was graded stays."""
    first, second = entries(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED})

    def interrupted() -> Iterator[Entry]:
        yield first
        raise KeyboardInterrupt

    done = io.BytesIO()
    with pytest.raises(KeyboardInterrupt):
        grade_entries(job(folder, tmp_path / "out"), interrupted(), done)

    assert answers(done.getvalue()) == [Done("ada", graded=True)]
    assert graded(job(folder, tmp_path / "out"), [first, second]) == [Done("ada"), Done("bob", graded=True)]


def test_a_course_is_what_the_folder_says(tmp_path: Path) -> None:
    """Scenarios are read if there are any; digests cover every check; mistakes are a SpecError."""
    folder = trio(tmp_path / "a")
    assert course_of(job(folder, tmp_path / "out")).scenarios is None
    (folder / "scenarios.py").write_text("def steps(student): return 1  # ä\n", encoding="utf-8")
    course = course_of(job(folder, tmp_path / "out"))
    assert course.scenarios == "def steps(student): return 1  # ä\n"
    assert course.digests.keys() == {check.id for check in course.assignment.checks} > set(CHECKS)
    (folder / "assignment.toml").write_text("schema = 1\n", encoding="utf-8")
    with pytest.raises(SpecError):
        course_of(job(folder, tmp_path / "out"))
