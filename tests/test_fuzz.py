"""Whatever the bytes: a documented refusal or an answer, in bounded time and memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import fuzz
from benchmarks.fuzz import TARGETS, Target, Unexpected
from grader import members, wire

INPUTS = 1000
LONGEST_S = 1.0  # CPU time of one small input: most take a millisecond
MOST_MIB = 64.0  # of growth over a thousand inputs, each of some KiB


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors_come_out(name: str) -> None:
    """A thousand inputs of each kind give answers and documented refusals, more than a few, and nothing else."""
    figures = fuzz.fuzz(name, INPUTS)
    assert figures.answered + figures.refused.total() == INPUTS
    assert figures.answered >= INPUTS // 20
    assert len(figures.refused) >= 5
    assert figures.worst_s < LONGEST_S, f"{name}, input {figures.worst}"
    assert figures.growth_mib < MOST_MIB


def test_the_same_seeds_make_the_same_inputs() -> None:
    """The number of an input makes it again, so that what was found can be looked at."""
    for name in TARGETS:
        assert fuzz.fuzz(name, 30).refused == fuzz.fuzz(name, 30).refused
        assert fuzz.fuzz(name, 30).refused != fuzz.fuzz(name, 30, first=30).refused


@pytest.mark.parametrize("error", [ValueError, KeyError, RecursionError, MemoryError, SystemExit, wire.ProtocolError])
def test_other_errors_are_found(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: an error that the target does not document ends the run, and its input is named."""

    def attempt(rng: random.Random) -> Callable[[], object]:
        def broken() -> object:
            if rng.random() < 0.2:
                raise error("broken")
            return None

        return broken

    monkeypatch.setitem(TARGETS, "zip", Target(attempt, TARGETS["zip"].documented))
    with pytest.raises(Unexpected, match=rf"^zip, input \d+: {error.__name__}: '?broken'?$"):
        fuzz.fuzz("zip", 100)


# The largest that is read, of the kind that costs most. Honest files hold a few KiB.

KIB = 1024
SOURCES: dict[str, str] = {
    "names": "a\n",
    "a tuple": "a,",
    "sums": "a+",
    "attributes": ".a",
    "calls": "()",
    "brackets": "(",
    "signs": "-",
    "negations": "not ",
    "lambdas": "lambda:",
    "f-strings": "f'{a}'\n",
    "nested f-strings": "f'{",
    "assignments": "a=1\n",
    "dictionaries": "{a:a}\n",
    "functions": "def a():0\n",
    "decorators": "@a\n",
    "branches": "elif a:\n b\n",
    "comprehensions": "for a in a ",
    "digits": "9",
    "line ends": "\\\n",
    "quotes": "'''",
    "stars": "*a,",
    "await": "await ",
    "walrus": "(a:=",
    "cases": " case a:0\n",
}
STARTS = {"attributes": "a", "calls": "a", "branches": "if a:\n b\n", "comprehensions": "[a ", "cases": "match a:\n"}


def notebook(*cells: str) -> bytes:
    """A notebook of these code cells."""
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}).encode()


def filled(unit: str, size: int, start: str = "") -> str:
    """``start`` and as many ``unit`` as fit into ``size`` characters."""
    return start + unit * ((size - len(start)) // len(unit))


PY, NB = members.LIMITS[".py"], members.LIMITS[".ipynb"]
LARGE: dict[str, bytes] = {
    **{f"{name}.py": filled(unit, PY, STARTS.get(name, "")).encode() for name, unit in SOURCES.items()},
    "blocks.py": "".join(" " * depth + "if a:\n" for depth in range(700)).encode(),
    "utf16.py": b"\xff\xfe" + filled("a\n", PY // 2 - 2).encode("utf-16-le"),
    "latin1.py": b"\xff\n" + filled("a\n", PY - 2).encode(),
    "lists.ipynb": filled("[],", NB, "[").encode(),
    "closed lists.ipynb": filled("[],", NB - 3, "[").encode() + b"[]]",
    "objects.ipynb": filled("{},", NB - 3, "[").encode() + b"{}]",
    "deep.ipynb": b"[" * NB,
    "numbers.ipynb": filled("1.5,", NB - 2, "[").encode() + b"1]",
    "one number.ipynb": b"9" * NB,
    "keys.ipynb": ("{" + ",".join(f'"{key:x}":0' for key in range(400_000)) + "}").encode(),
    "cells.ipynb": notebook(*["x = 1"] * 2000),
    "too many cells.ipynb": notebook(*[""] * 100_000),
    "magics.ipynb": notebook(*["!a\n" * 40] * 1999),
    "magic in pages.ipynb": notebook("a=1\n" * 60_000 + "%a\n" * 5000),
    "futures.ipynb": notebook(*["from __future__ import annotations\n" * 3] * 1999),
    "checks.ipynb": notebook(*["check('a')\n" * 10] * 1999),
    "names.ipynb": notebook("a\n" * (PY // 2 - 1)),
}
# Run in a process of its own, whose memory can be told: reads one file as a submission, and says what it took.
READER = """\
import resource, sys
from pathlib import Path
from grader.intake import entry_of, read
from grader.model import Assignment, Exercise
exercises = (Exercise("a", "", 1.0), Exercise("b", "", 1.0))
assignment = Assignment("x", "", "x.py", "", "", exercises, ())
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss, which a process takes over from the one that has started it.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return usage.ru_utime + usage.ru_stime, peak
before = used()
submission = read(entry_of(Path(sys.argv[1])), assignment)
after = used()
assert submission.problem.isprintable()
assert len(submission.problem) < 2000
print(after[0] - before[0], after[1] - before[1])
"""


def cost(path: Path) -> tuple[float, float]:
    """Seconds of CPU and MiB of memory that reading the entry at ``path`` takes."""
    done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    seconds, mib = map(float, done.stdout.split())
    return seconds, mib


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the largest memory so")


@ON_LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_the_largest_files_cost_little(name: str, tmp_path: Path) -> None:
    """The largest file that is read costs seconds and a quarter of a GiB at most, whatever is in it."""
    path = tmp_path / name
    path.write_bytes(LARGE[name])
    seconds, mib = cost(path)
    assert seconds < 6  # 2 on an idle machine
    assert mib < 300


@ON_LINUX
@pytest.mark.slow
def test_many_large_files_cost_little(tmp_path: Path) -> None:
    """Of many files that could be meant, all together cost not more than a few."""
    (tmp_path / "ada").mkdir()
    for number in range(20):
        (tmp_path / "ada" / f"{number}.py").write_text(filled("a=1\n", PY), encoding="utf-8")
    seconds, mib = cost(tmp_path / "ada")
    assert seconds < 6
    assert mib < 300


@ON_LINUX
@pytest.mark.slow
def test_the_measure_tells(tmp_path: Path) -> None:
    """The control: what is measured grows with what is parsed, so the bounds would be seen to be passed."""
    for size in (1, PY // KIB):
        (tmp_path / f"{size}.py").write_text(filled("a\n", size * KIB), encoding="utf-8")
    little, much = cost(tmp_path / "1.py"), cost(tmp_path / f"{PY // KIB}.py")
    assert much[0] > 10 * little[0]
    assert much[1] > little[1] + 100
