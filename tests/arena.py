"""Grade source texts: a small assignment `trio` of three exercises with two checks each, and a way to run it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from grader import spec
from grader.diagnose import SCHEMA, SIGNATURES
from grader.handle import LocalHandle
from grader.isolation import Zygote
from grader.job import Job
from grader.model import Answer, Isolation, Record, Run, Signature, Signatures, Submission
from grader.probe import ask, read_probes
from grader.reference import Reference, load_module
from grader.run import Course, run
from grader.session import Checks, with_checks
from grader.slot import course_of, solution_of

__all__ = ["CHECKS", "PROCESS", "SECRET", "SOLVED", "course", "outcomes", "run_sources", "sign", "submission", "trio"]

NOTHING: Mapping[str, str] = MappingProxyType({})
SECRET = bytes(range(32))
PROCESS = Isolation(tier="process", applied=("rlimits", "deadlines"))

EXERCISES = {"double": 2, "triple": 3, "negate": -1}
CHECKS = tuple(f"{exercise}/{check}" for exercise in EXERCISES for check in (f"{exercise}_one", f"{exercise}_many"))

SOLVED = """\
import torch


def double(x):
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION


def triple(x):
    ### BEGIN SOLUTION
    return x * 3
    ### END SOLUTION


def negate(x):
    ### BEGIN SOLUTION
    return -x
    ### END SOLUTION
"""

_CHECK = """\
@pytest.mark.check("{exercise}")
def test_{exercise}_one(student, reference):
    \"\"\"{exercise} of one number\"\"\"
    x = torch.tensor([1.5])
    close(student.{exercise}(x), x.double() * {factor}, dtype=x.dtype, limit=0, reason="exact in float32")


@pytest.mark.check("{exercise}")
@pytest.mark.parametrize("n", [5, 3])
def test_{exercise}_many(student, reference, n):
    \"\"\"{exercise} of many numbers\"\"\"
    x = reference.numbers(n)
    close(student.{exercise}(x), x.double() * {factor}, dtype=x.dtype, limit=0, reason="exact in float32")
"""

_REFERENCE = """\
import torch


def numbers(rng, n):
    return torch.randint(-64, 64, (n,), generator=rng).float() / 64 + 3
"""

_PUBLIC = """\
@pytest.mark.check("double")
def test_first(student, reference):
    \"\"\"double of 1, 2, 3\"\"\"
    x = torch.tensor([1.0, 2.0, 3.0])
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="doubling is exact")
"""


def trio(
    root: Path,
    *,
    hidden: str = "",
    toml: str = "",
    call_s: float = 1.0,
    memory_mb: int = 512,
    points: float = 2,
    files: Mapping[str, str] = NOTHING,
) -> Path:
    """Write the assignment below the course folder ``root``; ``hidden`` and ``toml`` are added to its files.

    ``files`` are written besides or instead, by their paths below ``root``.
    """
    head = "import pytest\nimport torch\n\nfrom grader.compare import close\n\n\n"
    lines = ["schema = 1", 'id = "trio"', 'title = "Three factors"', 'file = "trio.py"', "[limits]"]
    lines += [f"call_s = {call_s}", "late_call_s = 0.5", "load_s = 1.5", f"memory_mb = {memory_mb}"]
    for exercise in EXERCISES:
        lines += [f"[exercises.{exercise}]", f'title = "{exercise}"', f"points = {points}"]
    for check in CHECKS:
        lines += [f'[checks."{check}"]', "points = 1"]
    lines += ['[checks."double/first"]', 'hints = ["Once more."]', toml]
    bodies = [_CHECK.format(exercise=exercise, factor=factor) for exercise, factor in EXERCISES.items()]
    written = {
        "assignments/trio/assignment.toml": "\n".join(lines),
        "assignments/trio/checks/hidden/test_trio.py": head + "\n\n".join(bodies) + hidden,
        "assignments/trio/checks/public/test_public.py": head + _PUBLIC,
        "assignments/trio/reference.py": _REFERENCE,
        "solutions/trio/trio.py": SOLVED,
        **files,
    }
    for name, text in written.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root / "assignments" / "trio"


def sign(folder: Path, probes: str, mistakes: Mapping[tuple[str, str], str]) -> None:
    """Give an assignment the ``probes.py`` and the signatures of ``mistakes``: (exercise, id) → source.

    The sentence of a mistake is "The mistake <id> in <exercise>."
    """
    (folder / "probes.py").write_text(probes, encoding="utf-8")
    assignment = spec.load(folder)
    asked = read_probes(folder, assignment.exercises)

    def answers(source: str, exercises: Collection[str]) -> dict[str, Answer]:
        return ask(LocalHandle(source, assignment.file), [probe for probe in asked if probe.exercise in exercises])

    right = answers(
        Path(assignment.solution).read_text(encoding="utf-8"), [exercise.id for exercise in assignment.exercises]
    )
    known = []
    for (exercise, id_), source in mistakes.items():
        own = {probe: answer for probe, answer in answers(source, [exercise]).items() if answer != right[probe]}
        known.append(Signature(id_, exercise, f"The mistake {id_} in {exercise}.", own))
    (folder / SIGNATURES).write_bytes(msgspec.json.encode(Signatures(SCHEMA, asked, right, tuple(known))))


def course(folder: Path) -> Course:
    """The course of one assignment folder, under a fixed secret."""
    return course_of(Job(assignment=str(folder), results="", seed=SECRET.hex(), seed_hash="test", isolation=PROCESS))


def submission(student: str, source: str, file: str = "trio.py") -> Submission:
    """A readable submission."""
    return Submission(student=student, file=file, source=source, digest=hashlib.sha256(source.encode()).hexdigest())


def run_sources(
    folder: Path,
    sources: Mapping[str, str],
    *,
    zygotes: list[int] | None = None,
    journal: dict[str, list[Record]] | None = None,
    tier: str = "process",
) -> dict[str, Run]:
    """The runs of ``sources`` (student → text), in the order given, through one session and one zygote.

    ``journal`` gets the records of each student in the order in which they were settled.
    """
    here = course(folder)
    runs: dict[str, Run] = {}

    def body(checks: Checks) -> None:
        with Zygote(here.assignment.limits, tier) as zygote:
            for student, source in sources.items():
                settled = [] if journal is None else journal.setdefault(student, [])
                entry = submission(student, source, here.assignment.file)
                runs[student] = run(entry, "0001", here, checks, zygote, settled.append)
            if zygotes is not None:
                zygotes.append(zygote.process.pid)

    truth = Reference(load_module(folder / "reference.py"), SECRET)
    with_checks(folder, spec.load(folder).hidden_checks, truth, body, solution_of(here))
    return runs


def outcomes(one: Run) -> dict[str, str]:
    """Check id → outcome."""
    return {record.check: str(record.outcome) for record in one.records}
