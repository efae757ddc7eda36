"""The galleries graded for real: right files have full marks, each mistake loses what it names and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import spec
from grader.model import Assignment, Outcome, Run
from grader.score import score
from grader.stubs import make_stub
from tests.arena import course, run_sources

ROOT = Path(__file__).parent.parent
IDS = [folder.name for folder in spec.discover(ROOT)]

# Answers that need no thought: none of them may earn a point, whatever is asked.
CHEATS = {
    "zero": "import torch\ndef {name}(x, *args, **kwargs): return torch.zeros_like(x)\n",
    "zero_scalar": "import torch\ndef {name}(x, *args, **kwargs): return x.sum() * 0\n",
    "echo": "def {name}(x, *args, **kwargs): return x\n",
    "nan": "import torch\ndef {name}(x, *args, **kwargs): return torch.full_like(x, float('nan'))\n",
    "inf": "import torch\ndef {name}(x, *args, **kwargs): return x.sum(-1) + float('inf')\n",
    "none": "def {name}(*args, **kwargs): return None\n",
    "true": "def {name}(*args, **kwargs): return True\n",
    "wide": "import torch\ndef {name}(x, *args, **kwargs): return torch.zeros(1).expand(2**40)\n",
    "reduced_shape": "def {name}(x, *args, **kwargs): return x.sum()\n",
    "raises": "def {name}(*args, **kwargs): raise ValueError\n",
    "raises_what_is_asked": "class E(ValueError, IndexError, TypeError): pass\ndef {name}(*args, **kwargs): raise E\n",
    "liar": (
        "import torch\nclass Liar(torch.Tensor):\n"
        "    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None): return True\n"
        "    def __eq__(self, other): return True\n    __hash__ = None\n"
        "def {name}(x, *args, **kwargs): return x.sum(-1).as_subclass(Liar)\n"
    ),
    "equal_to_all": (
        "class Equal:\n    def __eq__(self, other): return True\n    def __getattr__(self, name): return self\n"
        "    def __call__(self, *args, **kwargs): return self\ndef {name}(*args, **kwargs): return Equal()\n"
    ),
}


def sources_of(folder: Path) -> dict[str, str]:
    """Everything there is to hand in for one assignment, by "kind name"."""
    assignment = spec.load(folder)
    solution = Path(assignment.solution).read_bytes()
    files = {"solution": solution.decode(), "stub": make_stub(solution, assignment.file).decode()}
    for kind in ("mistakes", "variants"):
        for path in sorted((folder / kind).glob("*.py")):
            files[f"{kind} {path.stem}"] = path.read_text(encoding="utf-8")
    for name, text in CHEATS.items():
        files[f"cheat {name}"] = "".join(text.format(name=exercise.id) for exercise in assignment.exercises)
    return files


def declared(source: str, name: str) -> set[str]:
    """The literal list that a gallery file assigns to ``name``; empty if it does not."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return set(ast.literal_eval(statement.value))
    return set()


class Graded:
    """One assignment with all its files graded in one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.assignment: Assignment = spec.load(folder)
        self.sources = sources_of(folder)
        self.runs: dict[str, Run] = run_sources(folder, self.sources)

    def not_passed(self, name: str) -> set[str]:
        """The checks that one file does not pass."""
        return {record.check for record in self.runs[name].records if record.outcome is not Outcome.PASSED}

    def points(self, name: str) -> tuple[float, float]:
        """Points and bonus of one file."""
        result = score([self.runs[name]], self.assignment, course(self.folder).digests)
        return result.points, result.bonus


@pytest.fixture(scope="module", params=IDS)
def graded(request: pytest.FixtureRequest) -> Graded:
    """Each assignment of the course in turn."""
    return Graded(ROOT / "assignments" / request.param)


def test_the_solution_has_full_marks_and_the_stub_none(graded: Graded) -> None:
    """Full includes every stretch check; nothing of the stub passes."""
    core = sum(check.points for check in graded.assignment.hidden_checks if not check.stretch)
    stretch = sum(check.points for check in graded.assignment.hidden_checks if check.stretch)

    assert graded.points("solution") == (core, stretch)
    assert graded.points("stub") == (0, 0)
    assert graded.not_passed("stub") == {check.id for check in graded.assignment.hidden_checks}


def test_each_mistake_loses_its_checks_and_nothing_else(graded: Graded) -> None:
    """The checks that do not pass are exactly those that the file names."""
    names = [name for name in graded.sources if name.startswith("mistakes ")]

    assert {name: graded.not_passed(name) for name in names} == {
        name: declared(graded.sources[name], "FAILS") for name in names
    }
    assert all(graded.not_passed(name) for name in names)


def test_each_variant_is_full(graded: Graded) -> None:
    """A right solution by other means loses no core point; what it misses of the bonus it names."""
    core = sum(check.points for check in graded.assignment.hidden_checks if not check.stretch)
    names = [name for name in graded.sources if name.startswith("variants ")]

    assert {name: graded.points(name)[0] for name in names} == dict.fromkeys(names, core)
    assert {name: graded.not_passed(name) for name in names} == {
        name: declared(graded.sources[name], "MISSES") for name in names
    }


def test_no_cheap_answer_passes_any_check(graded: Graded) -> None:
    """Zeros, echoes, constants, liars and exceptions earn nothing at all."""
    passed = {
        name: [record.check for record in run.records if record.outcome is Outcome.PASSED]
        for name, run in graded.runs.items()
        if name.startswith("cheat ")
    }

    assert passed == {f"cheat {name}": [] for name in CHEATS}


def test_every_check_catches_something(graded: Graded) -> None:
    """A check that no mistake fails would prove nothing."""
    caught = set().union(*(graded.not_passed(name) for name in graded.sources if name.startswith("mistakes ")))

    assert {check.id for check in graded.assignment.hidden_checks} - caught == set()


def test_nothing_is_a_grader_error_or_unstable(graded: Graded) -> None:
    """No file of the gallery, and no cheap answer, makes a check itself fail or waver."""
    odd = [
        (name, record.check, record.evidence)
        for name, run in graded.runs.items()
        for record in run.records
        if record.outcome is Outcome.GRADER_ERROR or record.unstable
    ]

    assert odd == []


@pytest.mark.slow
def test_outcomes_equal_plain_pytest_on_every_entry(
    graded: Graded, plain_outcomes: Callable[[Path, str], dict[str, str]]
) -> None:
    """Plain pytest, in one process and without our loop, gives every check the same outcome (skipped ones aside)."""
    for name, run in graded.runs.items():
        if name.startswith("cheat "):  # some of them would take all memory there is, outside a worker
            continue
        lean = {
            record.check: "passed" if record.outcome is Outcome.PASSED else "failed"
            for record in run.records
            if record.outcome is not Outcome.SKIPPED
        }
        plain = plain_outcomes(graded.folder, graded.sources[name])
        assert lean == {check: outcome for check, outcome in plain.items() if check in lean}, name
