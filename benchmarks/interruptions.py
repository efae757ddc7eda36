"""Kill `grader grade` again and again at random moments, and count what is lost: nothing may be.

    python -m benchmarks.interruptions --kills 100 --students 60

A class is graded once undisturbed. Then RESULTS are made anew and `grade` is killed with SIGKILL after a random part of
the time that it needs for what is left, and started again, until it has finished; then the next RESULTS, until there
were enough kills. Before some of these kills a slot or a zygote is killed, or a slot is stopped. After each kill every
run that was acknowledged before (a closed run file) has to be there, byte for byte; in the end every student has one
run, and scores.json has the bytes of the undisturbed one. Linux only, in the `process` tier; the exit code is 1 if
anything was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.arena import SOLVED, trio

__all__ = ["HITS", "Class", "Tally", "acknowledged", "interrupt", "processes"]

KINDS = (
    SOLVED,
    SOLVED.replace("x * 3", "x * 4"),
    SOLVED.replace("return -x", "raise NotImplementedError"),
    SOLVED.replace("return x * 2", "import os; os._exit(0)"),
    "import no_such_package\n" + SOLVED,
    SOLVED.replace("return -x", "import time; time.sleep(0.05); return -x"),
)
LOOPING = SOLVED.replace("return x * 3", "while True: pass")
PROCESS = ("--isolation", "process", "--accept-unsandboxed")


class Class:
    """A course below ``root`` with the assignment `trio` and ``students`` submissions, right, wrong and broken."""

    def __init__(self, root: Path, students: int, jobs: int = 2) -> None:
        self.root = root
        self.jobs = jobs
        self.seconds = self.first = 0.0  # an undisturbed pass, until its end and until its first run is closed
        self.right = b""  # the scores then
        trio(root)
        (root / "in").mkdir()
        self.students = [f"student-{number:02d}" for number in range(1, students + 1)]
        for number, student in enumerate(self.students):
            source = LOOPING if number % 30 == 7 else KINDS[number % len(KINDS)]
            (root / "in" / f"{student}.py").write_text(source, encoding="utf-8")

    def command(self, out: Path) -> list[str]:
        """`grader grade` of the class."""
        how = ("--out", str(out), "--jobs", str(self.jobs), *PROCESS)
        return [sys.executable, "-m", "grader", "grade", "trio", "in", *how]

    def undisturbed(self) -> Path:
        """Grade it once, to know the time that it takes and the scores that it deserves; RESULTS."""
        out = self.root / "undisturbed"
        start = time.monotonic()
        with self.grading(out) as (process, said):
            while process.poll() is None:
                self.first = self.first or (time.monotonic() - start if acknowledged(out) else 0.0)
                time.sleep(0.02)
            self.seconds = time.monotonic() - start
            if process.returncode != 0:
                raise RuntimeError(said.read_text(encoding="utf-8"))
        self.right = (out / "scores.json").read_bytes()
        return out

    def grade(self, out: Path) -> subprocess.CompletedProcess[str]:
        """One pass to its end."""
        return subprocess.run(self.command(out), cwd=self.root, capture_output=True, text=True, check=False)

    @contextlib.contextmanager
    def grading(self, out: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
        """`grade` at work, and the file with what it says on standard error. It is killed in the end."""
        with tempfile.NamedTemporaryFile(dir=self.root) as said:
            process = subprocess.Popen(
                self.command(out), cwd=self.root, stdout=subprocess.DEVNULL, stderr=said, text=True
            )
            try:
                yield process, Path(said.name)
            finally:
                process.kill()
                process.wait()


def acknowledged(out: Path) -> dict[str, bytes]:
    """The closed runs: path below RESULTS → bytes."""
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.glob("runs/*/[0-9]*.json"))}


def processes(root: int) -> dict[int, str]:
    """What a `grade` has started: pid → "slot", "zygote" or "worker"; "" for what was only forked just now."""
    found: dict[int, str] = {}
    todo = [root]
    while todo:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            pid = todo.pop()
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split())
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if pid != root and words:
                kind = "worker" if found.get(_parent(pid)) in ("zygote", "worker") else "zygote"
                found[pid] = "slot" if b"slot.main()" in words else kind if b"grader.zygote" in words else ""
    return found


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])


def _hit(kind: str, number: int) -> Callable[[int, random.Random], bool]:
    def hit(grade: int, rng: random.Random) -> bool:
        pids = [pid for pid, name in processes(grade).items() if name == kind]
        with contextlib.suppress(ProcessLookupError):
            if pids:
                os.kill(rng.choice(pids), number)
        return bool(pids)

    return hit


HITS = {
    "slot killed": _hit("slot", signal.SIGKILL),
    "zygote killed": _hit("zygote", signal.SIGKILL),
    "slot stopped": _hit("slot", signal.SIGSTOP),
}


@dataclass
class Tally:
    """What was seen."""

    kills: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    classes: int = 0  # graded to the end
    closed: list[int] = field(default_factory=list)  # acknowledged runs after each kill
    wrong: list[str] = field(default_factory=list)  # lost, doubled, refused, other scores


def interrupt(
    one: Class, out: Path, rng: random.Random, tally: Tally, *, kills: int, hits: Collection[str] = ()
) -> None:
    """Grade ``one`` into ``out`` with up to ``kills`` kills, then to the end; ``tally`` gets what went wrong."""
    before: dict[str, bytes] = {}
    finished = False
    for _ in range(kills):
        rest = max(0.3, 1 - len(before) / len(one.students))  # or it would never come to the end
        moment = rng.uniform(0, one.first + (one.seconds - one.first) * rest)
        hit = rng.choice([*hits, ""])
        with one.grading(out) as (process, said):
            start = time.monotonic()
            if hit:
                _wait(process, start + rng.uniform(0, moment))
                tally.hits[hit] += HITS[hit](process.pid, rng)
            _wait(process, start + moment)
            finished = process.poll() is not None
            process.kill()
            told = re.findall(r"graded (\d+) of (\d+)", said.read_text(encoding="utf-8"))
            problem = said.read_text(encoding="utf-8") if process.wait() not in (0, -signal.SIGKILL) else ""
        after = acknowledged(out)
        tally.wrong += [f"lost: {path}" for path in before if after.get(path) != before[path]]
        if problem and not hit:
            tally.wrong.append(f"stopped by itself: {problem}")
        if told and not finished and len(after) < len(one.students) - int(told[-1][1]) + int(told[-1][0]):
            tally.wrong.append(f"told {told[-1]}, and there are {len(after)}")
        before = after
        if finished:
            break
        tally.kills += 1
        tally.closed.append(len(after))
    done = one.grade(out)
    after = acknowledged(out)
    tally.wrong += [f"lost: {path}" for path in before if after.get(path) != before[path]]
    if done.returncode != 0:
        tally.wrong.append(f"the last one exits with {done.returncode}: {done.stderr}")
    elif after.keys() != {f"runs/{student}/0001.json" for student in one.students}:
        tally.wrong.append(f"lost or doubled: {sorted(after)}")
    elif (out / "scores.json").read_bytes() != one.right:
        tally.wrong += _differences(one.right, (out / "scores.json").read_bytes())
    tally.classes += 1


def _wait(process: subprocess.Popen[str], until: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, until - time.monotonic()))


def _differences(right: bytes, seen: bytes) -> list[str]:
    checks = []
    for document in (right, seen):
        scores = json.loads(document)["scores"]
        checks.append({(score["student"], line["id"]): line for score in scores for line in score["checks"]})
    return [
        f"other score: {student} {check}: {line['outcome']} instead of {checks[0][student, check]['outcome']}"
        for (student, check), line in checks[1].items()
        if checks[0].get((student, check)) != line
    ] or ["other scores"]


def main() -> None:
    """Do it as often as asked, and print figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hits", nargs="*", choices=sorted(HITS), default=["slot killed", "slot stopped"])
    arguments = parser.parse_args()
    rng, tally = random.Random(arguments.seed), Tally()
    with tempfile.TemporaryDirectory() as folder:
        one = Class(Path(folder), arguments.students)
        one.undisturbed()
        print(f"{len(one.students)} students in {one.seconds:.1f} s, the first after {one.first:.1f} s", flush=True)
        while tally.kills < arguments.kills and len(tally.wrong) < 20:
            left = arguments.kills - tally.kills
            interrupt(one, one.root / "out", rng, tally, kills=left, hits=arguments.hits)
            shutil.rmtree(one.root / "out")
            print(
                f"{tally.kills} kills, {tally.classes} classes, {len(tally.wrong)} wrong", file=sys.stderr, flush=True
            )
    inside = sum(0 < count < len(one.students) for count in tally.closed)
    print(f"{tally.kills} kills of `grade`, {inside} of them with some but not all runs closed")
    print(f"besides: {dict(tally.hits)}")
    print(f"{tally.classes} classes graded to the end, their scores compared with the undisturbed ones byte for byte")
    print(f"acknowledged runs after each kill: {tally.closed}")
    print("lost, doubled or other: nothing" if not tally.wrong else "\n".join(tally.wrong))
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
