"""CPU time per submission on the fixed benchmark: ``python -m benchmarks [--json]``.

User + system time of the whole process tree of a slot, read after the slot, its zygote and all workers have exited,
marginal between two class sizes (so start-up cancels), pinned to one core. Beside it, in turn: a fresh ``pytest`` per
submission on the same checks, by which a slow machine shows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from grader.job import Done, Job, Task
from grader.model import Isolation

COURSE = Path(__file__).parent / "course"
FOLDER = COURSE / "assignments" / "forty"
SOLVED = (COURSE / "solutions" / "forty" / "forty.py").read_text(encoding="utf-8")
SMALL, LARGE, ROUNDS = 20, 120, 5  # submissions in the two classes; the median of the rounds is reported

CLASSES = {
    "all pass": SOLVED,
    # 13 of 40 fail: all ten of `total`, and three of `shift`, whose offsets of 2 and more it refuses
    "a third fail": SOLVED.replace("return x.sum()", "return x.sum() + 1").replace(
        "return x + offset", "return x + offset if abs(offset) < 2 or offset == 8 else x"
    ),
}


def cpu_of_children() -> float:
    """Seconds of CPU, user and system, of all children that have been waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def slot(entry: Path, count: int, results: Path, tier: str) -> float:
    """CPU seconds of one slot that grades ``count`` copies of ``entry`` in ``tier``."""
    job = Job(str(FOLDER), str(results), "00" * 32, "benchmark", Isolation(tier, ()))
    lines = [msgspec.json.encode(job)]
    lines += [msgspec.json.encode(Task(f"s{number:04d}", os.fsencode(entry))) for number in range(count)]
    (results / "runs").mkdir()
    before = cpu_of_children()
    done = subprocess.run(
        [sys.executable, "-m", "grader.slot"], input=b"\n".join(lines) + b"\n", stdout=subprocess.PIPE, check=True
    )
    used = cpu_of_children() - before
    answers = [msgspec.json.decode(line, type=Done) for line in done.stdout.splitlines()]
    if len(answers) != count or any(answer.error for answer in answers):
        sys.exit(f"not everything was graded: {answers[-1:]}")
    return used


def marginal(source: str, where: Path, tier: str) -> float:
    """CPU seconds per submission between the small class and the large one."""
    entry = where / "forty.py"
    entry.write_text(source, encoding="utf-8")
    costs = {}
    for count in (SMALL, LARGE):
        with tempfile.TemporaryDirectory(dir=where) as results:
            costs[count] = slot(entry, count, Path(results), tier)
    return (costs[LARGE] - costs[SMALL]) / (LARGE - SMALL)


CONFTEST = """
import pytest
from pathlib import Path
from grader.handle import LocalHandle
from grader.reference import Reference, load_module

@pytest.fixture(scope="session")
def student():
    return LocalHandle(Path({entry!r}).read_text(), "forty.py")

@pytest.fixture(scope="session")
def reference():
    return Reference(load_module(Path({folder!r}) / "reference.py"), b"benchmark")

def pytest_configure(config):
    config.addinivalue_line("markers", "check: as in a release")
"""


def fresh_pytest(where: Path) -> float:
    """CPU seconds of one `pytest` process that runs the forty checks on the solved file, as a naive grader would."""
    entry = where / "forty.py"
    entry.write_text(SOLVED, encoding="utf-8")
    for path in (FOLDER / "checks" / "hidden").glob("test_*.py"):
        (where / path.name).write_bytes(path.read_bytes())
    text = CONFTEST.format(entry=str(entry), folder=str(FOLDER))
    (where / "conftest.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(where),
        "-p",
        "no:cacheprovider",
    ]
    before = cpu_of_children()
    done = subprocess.run([*command, str(where)], capture_output=True, text=True, check=False)
    if "40 passed" not in done.stdout:
        sys.exit(f"the forty checks do not pass under plain pytest:\n{done.stdout}{done.stderr}")
    return cpu_of_children() - before


def main() -> None:
    """Measure everything in turn, several rounds, and print medians with their spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tiers", nargs="+", default=["namespace", "process"], metavar="TIER")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows_of = {f"{name}, {tier}": (source, tier) for name, source in CLASSES.items() for tier in arguments.tiers}
    seen: dict[str, list[float]] = {name: [] for name in [*rows_of, "fresh pytest"]}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
            for name, (source, tier) in rows_of.items():
                seen[name].append(marginal(source, Path(folder), tier))
            with tempfile.TemporaryDirectory() as empty:
                seen["fresh pytest"].append(fresh_pytest(Path(empty)))
    rows = {
        name: {"median_ms": statistics.median(values) * 1e3, "min_ms": min(values) * 1e3, "max_ms": max(values) * 1e3}
        for name, values in seen.items()
    }
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"CPU per submission, {SMALL} to {LARGE} submissions, one core, median of {arguments.rounds}")
    base = rows["fresh pytest"]["median_ms"]
    for name, row in rows.items():
        spread = f"{row['min_ms']:.1f} to {row['max_ms']:.1f}"
        print(f"  {name:<24} {row['median_ms']:9.1f} ms   ({spread})   1/{base / row['median_ms']:.0f}")


main()
