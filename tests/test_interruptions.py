"""What was acknowledged is neither lost nor doubled: `grade` killed at any moment, a full disk, two at once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.interruptions import Class, Tally, acknowledged, interrupt, processes
from grader import bubblewrap
from grader.errors import EnvironmentRefused
from grader.store import Results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="grading forks its workers"),
]

STUDENTS = 7


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Class:
    """Graded once by the command, below `undisturbed`."""
    one = Class(tmp_path_factory.mktemp("course"), STUDENTS, jobs=1)
    one.undisturbed()
    return one


def until(process: subprocess.Popen[str], happened: Any) -> None:
    """Wait while `grade` is at work, for a minute at most."""
    deadline = time.monotonic() + 60
    while not happened():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def test_kills_at_random_moments_cost_nothing(small: Class, tmp_path: Path) -> None:
    """Every run that was closed stays as it is, every student has one in the end, and the scores are the same bytes."""
    tally = Tally()
    interrupt(small, tmp_path / "out", random.Random(3), tally, kills=3)

    assert tally.wrong == []
    assert tally.kills > 0


def test_what_is_lost_or_doubled_would_be_seen(small: Class, tmp_path: Path) -> None:
    """The count itself: a run that goes, changes or is there twice, and another score, each is told."""
    out = shutil.copytree(small.root / "undisturbed", tmp_path / "out")
    path = out / "runs" / small.students[0] / "0001.json"
    path.with_name("0002.json").write_bytes(path.read_bytes().replace(b'"0001"', b'"0002"'))
    tally = Tally()
    interrupt(small, out, random.Random(0), tally, kills=0)
    assert len(tally.wrong) == 1 and tally.wrong[0].startswith("lost or doubled")

    path.with_name("0002.json").unlink()
    path.write_bytes(path.read_bytes().replace(b'"passed"', b'"failed"', 1))
    tally = Tally()
    interrupt(small, out, random.Random(0), tally, kills=0)
    assert len(tally.wrong) == 1 and tally.wrong[0].startswith("other score: ")


@pytest.mark.parametrize("seed", range(2))
def test_ten_kills_of_grade_and_others(small: Class, tmp_path: Path, seed: int) -> None:
    """Slots are killed and stopped too, at random, before `grade` is."""
    tally = Tally()
    rng = random.Random(seed)
    while tally.kills < 5:
        out = tmp_path / f"out-{tally.classes}"
        hits = ["slot killed", "slot stopped"]
        interrupt(small, out, rng, tally, kills=5 - tally.kills, hits=hits)

    assert tally.wrong == []


def test_slots_die_with_a_killed_grade_and_only_they_share_its_lock(
    small: Class, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a slot that is stopped; a second later the folder is free; a zygote or a worker never holds its lock."""
    out = tmp_path / "out"
    monkeypatch.setattr(small, "jobs", 2)
    with small.grading(out) as (process, _):
        until(process, lambda: "worker" in processes(process.pid).values())
        family = processes(process.pid)
        holders = {family.get(pid, "grade") for pid in (process.pid, *family) if _holds(pid, out / ".lock")}
        slots = {pid for pid, name in family.items() if name == "slot"}
        os.kill(min(slots), signal.SIGSTOP)
        secret = Results(out).about().seed_hash
        with pytest.raises(EnvironmentRefused, match=f"process {process.pid} on "), Results.claim(out, "trio", secret):
            pass
        process.kill()
        process.wait()
        start = time.monotonic()
        with Results.claim(out, "trio", secret):
            waited = time.monotonic() - start

    assert {"slot", "zygote", "worker"} <= set(family.values())
    assert holders - {""} == {"grade", "slot"}
    assert waited < 1.5
    assert not any(_alive(pid) for pid in slots)


def _holds(pid: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if link.readlink() == path:
                    return True
    return False


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_a_slot_that_is_killed_while_it_imports_dies_with_grade(small: Class, tmp_path: Path) -> None:
    """It is bound to `grade` from its first moment on, for it holds the lock while torch is imported."""
    out = tmp_path / "out"
    with small.grading(out) as (process, _):
        until(process, lambda: "slot" in processes(process.pid).values())
        time.sleep(0.2)  # within the seconds that torch takes, and after those that Python takes
        process.kill()
        process.wait()
        with Results.claim(out, "trio", Results(out).about().seed_hash):
            pass

    assert acknowledged(out) == {}


def test_a_second_grade_says_so_and_stops(small: Class, tmp_path: Path) -> None:
    """Exit code 5 and one sentence with the process that is at work; that one goes on as if nothing had been."""
    out = tmp_path / "out"
    with small.grading(out) as (process, _):
        until(process, (out / "about.json").exists)
        second = small.grade(out)
        assert (second.returncode, second.stdout) == (5, "")
        assert f"{out} is being graded by another `grade` (process {process.pid} on " in second.stderr
        assert "Traceback" not in second.stderr
        assert process.poll() is None


def test_a_grade_with_nothing_to_do_starts_no_slot(small: Class, tmp_path: Path) -> None:
    """It is done before a slot could even import torch, with the same scores."""
    out = small.root / "undisturbed"
    start = time.monotonic()
    with small.grading(out) as (process, said):
        seen = set()
        while process.poll() is None:
            seen |= set(processes(process.pid).values())
            time.sleep(0.005)
        words = said.read_text(encoding="utf-8")

    assert (process.returncode, seen, words) == (0, set(), "")
    assert time.monotonic() - start < small.seconds
    assert (out / "scores.json").read_bytes() == small.right


def test_who_has_no_finished_run_is_named_and_no_zero(small: Class, tmp_path: Path) -> None:
    """On standard error, also beside the document of --json; the others have their scores."""
    out = shutil.copytree(small.root / "undisturbed", tmp_path / "out")
    first, *others = small.students
    (out / "runs" / first / "0001.json").write_bytes(b"{")

    done = subprocess.run([*small.command(out), "--json"], cwd=small.root, capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert f"without a score, for their grading has not finished: {first}\n" in done.stderr
    assert [score["student"] for score in json.loads(done.stdout)["scores"]] == others


DRIVER = """\
import json, os, subprocess, sys
from pathlib import Path
out, command, levels = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
told = []
for level in levels:
    ballast = out.parent / "ballast"
    with open(ballast, "wb") as file:
        room = os.statvfs(out.parent)
        file.write(bytes(max(0, room.f_bavail * room.f_frsize - level)))
    done = subprocess.run(command, capture_output=True, text=True)
    closed = {p.relative_to(out).as_posix(): p.read_bytes().hex() for p in out.glob("runs/*/[0-9]*.json")}
    scores = (out / "scores.json").read_text() if (out / "scores.json").exists() else ""
    rest = [p.name for p in out.rglob("*.new")]
    told.append([done.returncode, done.stdout, done.stderr, closed, scores, rest])
    ballast.unlink()
print(json.dumps(told))
"""
DISK = 1 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command line of a sandbox with a small disk, at a folder `disk`; `--ro-bind` and the like can be added."""
    try:
        folder = tmp_path_factory.mktemp("small") / "disk"
        folder.mkdir()
        command = [str(bubblewrap.find()), "--dev-bind", "/", "/", "--size", str(DISK), "--tmpfs", str(folder)]
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (EnvironmentRefused, subprocess.CalledProcessError) as error:
        pytest.skip(f"a disk of one's own needs namespaces: {error}")
    return command


def fill(small: Class, disk: list[str], levels: list[int]) -> list[Any]:
    """`grade` once for each of ``levels``, the bytes that are free on the disk."""
    out = Path(disk[-1]) / "out"
    arguments = [sys.executable, "-c", DRIVER, str(out), json.dumps(small.command(out)), json.dumps(levels)]
    done = subprocess.run([*disk, *arguments], cwd=small.root, capture_output=True, text=True, check=True)
    told: list[Any] = json.loads(done.stdout)
    return told


def check_full(small: Class, disk: list[str], levels: list[int]) -> list[tuple[int, int]]:
    """Grade on a full disk, then with room; exit code and number of closed runs after each."""
    told = fill(small, disk, [*levels, DISK])
    before: dict[str, str] = {}
    for code, _, stderr, closed, scores, rest in told:
        assert rest == []
        assert before.items() <= closed.items()
        if code == 0:
            assert closed.keys() == {f"runs/{student}/0001.json" for student in small.students}
            assert scores.encode() == small.right
        else:
            assert code == 5, stderr
            assert "No space left on device" in stderr and "run the same command again" in stderr
            assert "Traceback" not in stderr
        before = closed
    return [(code, len(closed)) for code, _, _, closed, _, _ in told]


def test_a_full_disk_is_told_and_loses_nothing(small: Class, disk: list[str]) -> None:
    """Really full, from the first byte and amid the class: exit code 5; with room, the same scores as ever."""
    nothing, some, all_ = check_full(small, disk, [0, 32 << 10])

    assert nothing == (5, 0)
    assert some[0] == 5 and 0 < some[1] < STUDENTS
    assert all_ == (0, STUDENTS)


def test_a_disk_can_be_full_at_every_file(small: Class, disk: list[str]) -> None:
    """Page by page: the lock, the folder's own file, journals, runs, scores."""
    seen = check_full(small, disk, [page << 12 for page in range(8)])

    assert [code for code, _ in seen[:4]] == [5] * 4  # a run with its journal takes more than three pages
    assert seen[-1] == (0, STUDENTS)


def test_a_disk_that_cannot_be_written_is_told(small: Class, disk: list[str]) -> None:
    """Results that have become read-only: exit code 5, the file and the reason, and everything as it was."""
    out = small.root / "undisturbed"
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    sandbox = [*disk[:-4], "--ro-bind", str(out), str(out)]

    command = [*sandbox, *small.command(out)]
    done = subprocess.run(command, cwd=small.root, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(f"error: cannot write {out / '.lock'}: Read-only file system. ")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
