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
from grader.isolation import Zygote
from grader.job import Done, Job, Task
from grader.model import Outcome, Record
from grader.slot import course_of, grade_tasks
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


def job(folder: Path, out: Path) -> Job:
    """A job that grades into the new or known RESULTS at ``out``."""
    Results.create(out, "trio", "test")
    return Job(str(folder), str(out), SECRET.hex(), "test", PROCESS)


def tasks(place: Path, sources: dict[str, str], run: str = "0001") -> list[Task]:
    """One file per student below ``place``, to be graded for the first time."""
    place.mkdir(exist_ok=True)
    for student, source in sources.items():
        (place / f"{student}.py").write_text(source, encoding="utf-8")
    return [Task(student, os.fsencode(place / f"{student}.py"), run) for student in sources]


def answers(lines: bytes) -> list[Done]:
    """Every line as a Done."""
    return [msgspec.json.decode(line, type=Done) for line in lines.splitlines()]


@pytest.fixture
def here(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let slots in this process share a zygote that is there already."""
    monkeypatch.setattr(slot, "Zygote", lambda limits, tier, hidden: contextlib.nullcontext(zygote))


def graded(one: Job, todo: Iterable[Task]) -> list[Done]:
    """What a slot in this process answers."""
    done = io.BytesIO()
    grade_tasks(one, todo, done)
    return answers(done.getvalue())


def slot_process(lines: Iterable[bytes], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """A slot as `grade` starts it."""
    return subprocess.run(
        [sys.executable, "-m", "grader.slot"], input=b"".join(line + b"\n" for line in lines), capture_output=True,
        check=False, timeout=300, cwd=cwd,
    )  # fmt: skip


def test_a_slot_over_pipes(folder: Path, tmp_path: Path) -> None:
    """Each task line has its answer, in order, and standard output holds nothing else, whoever prints."""
    found = tasks(tmp_path / "in", {"ada": SOLVED, "eve": PRINTING, "bad": "def f(:\n"})
    odd = tmp_path / "in" / os.fsdecode(b"\xff\xfe.py")
    odd.write_text(SOLVED, encoding="utf-8")
    gone = tmp_path / "in" / "gone.py"
    found += [Task("\ufffd odd\nname", os.fsencode(odd)), Task("gone", os.fsencode(gone))]
    lines = [msgspec.json.encode(task) for task in found]

    process = slot_process([msgspec.json.encode(job(folder, tmp_path / "out")), *lines, lines[0]], tmp_path)

    assert process.returncode == 0, process.stderr.decode()
    assert answers(process.stdout) == [Done(task.student) for task in (*found, found[0])]
    assert b"reference.py says hello" in process.stderr
    results = Results(tmp_path / "out")
    seen = {task.student: outcomes(*results.runs(task.student)) for task in found}
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
    assert (answer.student, answer.exit_code) == ("", 2)
    assert answer.error.count("points") == 3


@pytest.mark.usefixtures("here")
def test_a_task_done_twice_is_one_run(folder: Path, tmp_path: Path) -> None:
    """A slot that dies between closing a run and saying so has done its task: the next slot leaves it as it is."""
    todo = tasks(tmp_path / "in", {"ada": SOLVED})
    assert graded(job(folder, tmp_path / "out"), todo) == [Done("ada")]
    closed = tmp_path / "out" / "runs" / "ada" / "0001.json"
    before = closed.read_bytes()

    assert graded(job(folder, tmp_path / "out"), todo) == [Done("ada")]

    assert closed.read_bytes() == before
    assert graded(job(folder, tmp_path / "out"), [msgspec.structs.replace(todo[0], run="0002")]) == [Done("ada")]
    assert [run.id for run in Results(tmp_path / "out").runs("ada")] == ["0001", "0002"]


@pytest.mark.usefixtures("here")
def test_an_interrupted_run_is_begun_with_its_first_check(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was settled before is not believed: a submission that ends its grader gets no second choice by it."""
    one, todo = job(folder, tmp_path / "out"), tasks(tmp_path / "in", {"ada": SOLVED.replace("x * 2", "x")})
    settled = Results(tmp_path / "out").open_run("ada", "0001")
    settled.add(Record(CHECKS[0], course_of(one).digests[CHECKS[0]], Outcome.PASSED))

    assert graded(one, todo) == [Done("ada")]
    settled.abandon()

    (run,) = Results(tmp_path / "out").runs("ada")
    assert outcomes(run) == {check: "failed" if "double" in check else "passed" for check in CHECKS}
    assert {path.name for path in (tmp_path / "out" / "runs" / "ada").iterdir()} == {
        "0001.json", "0001.interrupted.jsonl",
    }  # fmt: skip


@pytest.mark.usefixtures("here")
def test_a_full_disk_stops_the_slot_with_one_answer(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full for the next student too: exit code 5, no further entry is tried, what was graded stays."""
    one, todo = job(folder, tmp_path / "out"), tasks(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED, "cat": SOLVED})
    replace = os.replace

    def until_bob(source: Path, target: Path) -> None:
        if target.name == "0001.json" and "bob" in str(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", until_bob)
        told = graded(one, todo)

    assert [(answer.student, answer.exit_code) for answer in told] == [("ada", 0), ("bob", 5)]
    assert "No space left on device" in told[1].error
    assert {name: len(Results(tmp_path / "out").runs(name)) for name in ("ada", "bob", "cat")} == {
        "ada": 1, "bob": 0, "cat": 0,
    }  # fmt: skip
    assert [answer.error for answer in graded(one, todo)] == ["", "", ""]
    assert [len(Results(tmp_path / "out").runs(name)) for name in ("ada", "bob", "cat")] == [1, 1, 1]


@pytest.mark.usefixtures("here")
def test_a_full_disk_before_anything_is_written_is_the_entrys_answer(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where not even the journal can be made, or written: an answer with the student's name, no traceback."""
    one, todo = job(folder, tmp_path / "out"), tasks(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED})
    (tmp_path / "out" / "runs").rmdir()
    (tmp_path / "out" / "runs").write_bytes(b"")  # a file where the folder must be

    told = graded(one, todo)

    assert [(answer.student, answer.exit_code) for answer in told] == [("ada", 5)]
    (tmp_path / "out" / "runs").unlink()
    (tmp_path / "out" / "runs").mkdir()

    def full(path: Path, *args: object, **more: object) -> io.FileIO:
        return open("/dev/full", "wb", buffering=0)

    with monkeypatch.context() as patch:
        patch.setattr(store, "open", full, raising=False)
        told = graded(one, todo)
    assert [(answer.student, answer.exit_code) for answer in told] == [("ada", 5)]


@pytest.mark.usefixtures("here")
def test_an_interruption_is_not_swallowed(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C between two entries ends the slot; what was graded stays."""
    first, *_ = tasks(tmp_path / "in", {"ada": SOLVED, "bob": SOLVED})

    def interrupted() -> Iterator[Task]:
        yield first
        raise KeyboardInterrupt

    done = io.BytesIO()
    with pytest.raises(KeyboardInterrupt):
        grade_tasks(job(folder, tmp_path / "out"), interrupted(), done)

    assert answers(done.getvalue()) == [Done("ada")]
    assert [len(Results(tmp_path / "out").runs(name)) for name in ("ada", "bob")] == [1, 0]


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
