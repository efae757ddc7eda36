"""Let the corpus in tests/hostile attack, and tell what it has reached.

``python -m tests.attacks TIER [ONLY]`` grades all of it (or the entries whose names hold ONLY) through one session and
one zygote, with an honest submission around each entry, and prints a JSON line for each. The tier ``process`` and
``naive``, which is :mod:`tests.naive`, are controls: there, the entries that name them have to reach their goal.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from grader import bubblewrap
from grader.errors import EnvironmentRefused
from grader.intake import Entry, read
from grader.isolation import Zygote
from grader.model import Limits, Outcome, Run
from grader.reference import Reference, load_module
from grader.run import Course, run
from grader.session import Checks, with_checks
from grader.slot import solution_of
from tests.arena import SECRET, course
from tests.duo import HONEST
from tests.world import World

__all__ = ["CORPUS", "PLAIN", "Attack", "Seen", "as_root_elsewhere", "as_user", "attacks"]

CORPUS = Path(__file__).parent / "hostile"
# Graded before the attacks, so that one knows what a probe says of those who do nothing: no attack, and nothing else.
PLAIN = {"plainly_wrong": b"def double(x):\n    return x * 3\n", "plainly_right": HONEST.encode()}
GENEROUS = Limits(call_s=60.0, load_s=60.0, exercise_s=600.0, memory_mb=256)  # for neighbours, on a busy machine
POINTS = 6  # that the naive grader gives to an honest submission
ENDS_AFTER_S = 20.0  # every entry, with all its loops and time-outs: they take 3 s, and machines can be busy


class Attack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``expect.toml`` of one entry."""

    catalogue: int  # its number among the threats, which are written down elsewhere
    attack: str
    threatens: str
    stopped_by: str  # a layer, or a boundary in words
    outcome: tuple[Outcome, ...]  # what the checks of `exercise` may end as
    control: str  # where it reaches its goal: process, naive or none
    goal: str = ""  # one of the words that `reached` uses
    why: str = ""  # there is no control
    limit: str = ""  # why nothing stops it: it reaches its goal everywhere
    exercise: str = "double"
    child: bool = False  # the naive grader has it in a child, and talks with it
    links: dict[str, str] = {}  # of the folder that is handed in: name → target
    files: dict[str, str] = {}  # likewise: name → text


class Seen(msgspec.Struct):
    """What became of one entry."""

    name: str
    outcomes: dict[str, str] = {}
    reached: list[str] = []
    told: str = ""  # of its evidence and output, for who looks at a failure


def attacks() -> dict[str, Attack]:
    """All of the corpus, by name."""
    return {
        path.parent.name: msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Attack, strict=False)
        for path in sorted(CORPUS.glob("*/expect.toml"))
    }


def _elsewhere() -> list[str]:
    """The same machine, where everybody may read the Python that runs us, also one that lies in /root."""
    base = Path(sys.base_prefix)
    command = ["env", "PYTHONDONTWRITEBYTECODE=1"]
    if base.is_relative_to("/root"):
        shown = [str(bubblewrap.find()), "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
        shown += ["--perms", "0755", "--tmpfs", "/root"]
        for folder in reversed(base.parents[:-2]):  # those that bubblewrap makes by itself can be entered by root only
            shown += ["--perms", "0755", "--dir", str(folder)]
        command = [*shown, "--ro-bind", str(base), str(base), "--chdir", str(CORPUS.parent.parent), "--", *command]
    return command


def as_root_elsewhere(*command: str) -> list[str]:
    """``command`` as root runs it where a user without rights can read Python, as in a container."""
    return [*_elsewhere(), *command]


def as_user(*command: str) -> list[str]:
    """``command`` as root runs it for an ordinary user, who has no home and no capability. Standard output is ours."""
    return [*_elsewhere(), "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *_HOMELESS, *command]


_HOMELESS = ("env", "HOME=/nonexistent")


def _hand_in(world: World, name: str, attack: Attack | None) -> Path:
    sub = CORPUS / name / "sub.py"
    files = {"duo.py": sub.read_bytes()} if sub.exists() else {}
    if attack is None:
        return world.hand_in(name, {"duo.py": PLAIN[name]}, {})
    return world.hand_in(name, files | {file: text.encode() for file, text in attack.files.items()}, attack.links)


def _chosen(control: str, only: str) -> dict[str, Attack | None]:
    found = {name: one for name, one in attacks().items() if only in name and control in ("", one.control)}
    return dict.fromkeys(PLAIN) | found


def _essence(one: Run) -> tuple[object, ...]:
    """What must not depend on who was there before."""
    records = [(r.check, r.outcome, r.evidence, r.cases, r.unstable) for r in one.records]
    return records, one.warnings, one.output, one.problem


def _public(one: Run) -> str:
    """What a student is told of hidden checks."""
    told = [record.evidence for record in one.records if record.evidence is not None]
    return " ".join(f"{evidence.kind} {evidence.message}" for evidence in told) + str(one.warnings)


def _say(seen: Seen) -> None:
    print(msgspec.json.encode(seen).decode(), flush=True)


def grade(tier: str, only: str) -> None:
    """One sitting in ``tier``, an honest submission around each entry."""
    with World() as world:
        # Something hidden lies among the libraries that a worker must read.
        vars(bubblewrap)["LIBRARIES"] += (str(world.root / "site"),)
        here = course(world.folder)
        neighbour = msgspec.structs.replace(here, assignment=msgspec.structs.replace(here.assignment, limits=GENEROUS))
        honest = world.root / "submissions" / "grace" / "duo.py"

        def one(path: Path, checks: Checks, zygote: Zygote, its: Course) -> Run:
            return run(read(Entry("ada", path), its.assignment), "0001", its, checks, zygote)

        def body(checks: Checks) -> None:
            with Zygote(here.assignment.limits, tier, world.hidden) as zygote:
                alone = _essence(one(honest, checks, zygote, neighbour))
                for name, attack in _chosen("process" if tier == "process" else "", only).items():
                    path = _hand_in(world, name, attack)
                    start = time.monotonic()
                    seen = one(path, checks, zygote, here)
                    seconds = time.monotonic() - start
                    reached = world.reached(_public(seen), repr(seen))
                    if any(record.outcome is Outcome.PASSED for record in seen.records):
                        reached.add("points")
                    if seconds > ENDS_AFTER_S:
                        reached.add("hang")
                    if _essence(one(honest, checks, zygote, neighbour)) != alone:
                        reached.add("neighbour")
                    outcomes = {record.check: str(record.outcome) for record in seen.records}
                    told = f"{[record.evidence for record in seen.records]} {seen.warnings} {seen.output[:2000]}"
                    _say(Seen(name, outcomes, sorted(reached), told))

        truth = Reference(load_module(world.folder / "reference.py"), SECRET)
        with_checks(world.folder, here.assignment.hidden_checks, truth, body, solution_of(here))


def grade_naively(only: str) -> None:
    """The entries whose control it is, each followed by an honest submission in the same process."""
    with World() as world:
        keys = world.folder / "checks" / "hidden" / "test_duo.py"
        command = [sys.executable, "-W", "ignore", "-m", "tests.naive", str(keys)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin is not None and server.stdout is not None
            server.stdout.readline()
            for name, attack in _chosen("naive", only).items():
                path = _hand_in(world, name, attack)
                home = Path(tempfile.mkdtemp(dir=world.root))
                if attack is not None and attack.files:
                    answer = _by_pytest(path, home)
                else:
                    honest = shutil.copy(world.root / "submissions" / "grace" / "duo.py", home / "honest.py")
                    paths = [str(path / "duo.py" if path.is_dir() else path), str(honest)]
                    child = attack is not None and attack.child
                    print(
                        json.dumps({"paths": paths, "home": str(home), "child": child}), file=server.stdin, flush=True
                    )
                    answer = json.loads(server.stdout.readline()) | {"child": child}
                text = (home / "stdout").read_text(encoding="utf-8", errors="replace")
                reached = world.reached(text, text) | set(_reached(home, answer, text))
                _say(Seen(name, {}, sorted(reached), f"{answer} {text[:2000]}"))


def _by_pytest(folder: Path, home: Path) -> dict[str, Any]:
    """As is often done: the hidden test is copied beside what was handed in, and pytest's exit code counts."""
    test = "from duo import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    shutil.copytree(folder, home, dirs_exist_ok=True)
    (home / "test_hidden.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=home, capture_output=True, check=False)
    (home / "stdout").write_bytes(ended.stdout)
    return {"hung": False, "status": ended.returncode, "child": True}


def _reached(home: Path, answer: dict[str, Any], text: str) -> Iterator[str]:
    """What only a naive grader lets anybody reach."""
    path = home / "results.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if answer["hung"]:
        yield "hang"
    elif answer["status"] == 0:
        yield "exit"  # code 0
    elif not results or ("honest" not in results and not answer["child"]):
        yield "died"  # before it had graded the next one
    if results.get("duo"):
        yield "points"
    if results.get("fds"):
        yield "descriptors"
    if results.get("honest", POINTS) != POINTS:
        yield "neighbour"
    if "PASSED duo" in text:
        yield "report"


def main() -> None:
    """One sitting. Exits with the code of a refusal and its sentence where a tier cannot be had."""
    os.umask(0o022)
    tier, only = sys.argv[1], "".join(sys.argv[2:])
    try:
        grade_naively(only) if tier == "naive" else grade(tier, only)
    except EnvironmentRefused as error:
        print(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
