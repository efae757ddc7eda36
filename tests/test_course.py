"""The course that ships holds strictly, for the reasons that its files give, and on every kind of CPU alike."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import spec
from grader.gallery import Entry, read_gallery
from grader.model import Outcome, Run
from grader.verdict import Verdict
from grader.verify import verify
from tests.arena import SECRET, run_sources

ROOT = Path(__file__).parent.parent
IDS = [folder.name for folder in spec.discover(ROOT)]
LEAST = {"losses": (24, 8, 30, 14)}  # hidden checks, public checks, mistakes, variants: what was promised


pytestmark = pytest.mark.slow  # minutes for an assignment; `grader verify --strict` says the most important part


@pytest.fixture(scope="module", params=IDS)
def verdict(request: pytest.FixtureRequest) -> Verdict:
    """Each assignment of the course in turn, proved once."""
    return verify(ROOT / "assignments" / request.param, SECRET)


def test_it_holds_strictly(verdict: Verdict) -> None:
    """Nothing is wrong and nothing is missing."""
    assert (verdict.problems, verdict.gaps) == ((), ())


def test_the_solution_has_full_marks(verdict: Verdict) -> None:
    """All core points and all of the bonus."""
    checks = spec.load(ROOT / "assignments" / verdict.assignment).hidden_checks

    assert verdict.points == sum(check.points for check in checks if not check.stretch)
    assert verdict.bonus == sum(check.points for check in checks if check.stretch)


def test_there_is_as_much_as_was_promised(verdict: Verdict) -> None:
    """Numbers of checks, mistakes and variants."""
    assignment = spec.load(ROOT / "assignments" / verdict.assignment)
    mistakes = {one.file for one in verdict.mistakes}
    there = (len(assignment.hidden_checks), len(assignment.public_checks), len(mistakes), len(verdict.variants))

    assert all(has >= least for has, least in zip(there, LEAST[verdict.assignment], strict=True)), there


def gallery(folder: Path) -> dict[str, Entry]:
    """The entries of one assignment by file."""
    return {entry.file: entry for entry in read_gallery(spec.load(folder))}


@pytest.mark.parametrize("id_", IDS)
def test_outcomes_equal_plain_pytest_on_every_entry(
    id_: str, plain_outcomes: Callable[[Path, str], dict[str, str]]
) -> None:
    """Plain pytest, in one process and without our loop, gives every check the same outcome (skipped ones aside)."""
    folder = ROOT / "assignments" / id_
    entries = gallery(folder)
    runs = run_sources(folder, {name: entry.variations[0].source for name, entry in entries.items()})
    for name, entry in entries.items():
        lean = {
            record.check: "passed" if record.outcome is Outcome.PASSED else "failed"
            for record in runs[name].records
            if record.outcome is not Outcome.SKIPPED and record.check.partition("/")[0] in entry.exercises
        }
        plain = plain_outcomes(folder, entry.variations[0].source)
        assert lean == {check: outcome for check, outcome in plain.items() if check in lean}, name


def test_verdicts_depend_neither_on_the_cpu_nor_on_threads() -> None:
    """With the vector kernels of other CPUs, and with two threads, the gate comes to the same document."""
    settings = [("default", 1), ("avx2", 1), ("avx512", 1), ("avx512", 2)]
    documents = {}
    for capability, threads in settings:
        done = subprocess.run(
            [sys.executable, "-m", "tests.verify_with", str(threads), *IDS], cwd=ROOT,
            env=os.environ | {"ATEN_CPU_CAPABILITY": capability}, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        document = json.loads(done.stdout)
        documents[capability, threads] = document
        had, used = document.pop("worker")
        assert used == threads
        assert had.lower() == capability or capability == "avx512"  # which not every machine has

    for document in documents.values():
        assert [one["holds"] for one in document["assignments"]] == [True] * len(IDS), document
        assert document == documents[settings[0]]


# Paraphrases: the mistakes of the gallery, made again by somebody who has not seen it

PARAPHRASES = Path(__file__).parent / "paraphrases"


def literal(path: Path, name: str) -> object:
    """What a file assigns to ``name``; None if it does not."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            value: object = ast.literal_eval(statement.value)
            return value
    return None


class Paraphrased:
    """The paraphrases of one assignment, graded."""

    def __init__(self, id_: str) -> None:
        self.folder = ROOT / "assignments" / id_
        self.one = sorted((PARAPHRASES / id_ / "one").glob("*.py"))
        self.two = sorted((PARAPHRASES / id_ / "two").glob("*.py"))
        files = {str(path): path.read_text(encoding="utf-8") for path in (*self.one, *self.two)}
        self.runs: dict[str, Run] = run_sources(self.folder, files)

    def named(self, path: Path) -> list[str]:
        """What the diagnosis says of one file, as "exercise/id"."""
        from grader.diagnose import diagnose, read_signatures

        exercises = {record.check.partition("/")[0] for record in self.runs[str(path)].records}
        found = diagnose(self.runs[str(path)].answers, read_signatures(self.folder), sorted(exercises))
        return [f"{mistake.exercise}/{mistake.id}" for mistake in found]


@pytest.fixture(scope="module", params=[folder.name for folder in sorted(PARAPHRASES.iterdir()) if folder.is_dir()])
def paraphrased(request: pytest.FixtureRequest) -> Paraphrased:
    """Each assignment that has paraphrases."""
    return Paraphrased(request.param)


def test_paraphrases_are_named_right_and_never_wrong(paraphrased: Paraphrased) -> None:
    """Of at least 20, half of them with a constant that the gallery does not have, 85 % are named and none wrongly."""
    named = {path: paraphrased.named(path) for path in paraphrased.one}
    right = {path for path in named if named[path] == [literal(path, "MISTAKE")]}
    wrong = {path.name: names for path, names in named.items() if names and path not in right}
    unnamed = sorted(path.name for path in named if not named[path])
    known = numbers(paraphrased.folder)
    others = {path for path in named if is_other(literal(path, "CONSTANT"), known[str(literal(path, "MISTAKE"))])}

    assert wrong == {}
    assert len(named) >= 20
    assert len(others) * 2 >= len(named)
    assert len(right) >= 0.85 * len(named), unnamed
    assert len(right & others) >= 0.85 * len(others), unnamed


def numbers(folder: Path) -> dict[str, set[float]]:
    """Of each mistake of the gallery, all numbers in its forms and variations."""
    found: dict[str, set[float]] = {}
    for entry in gallery(folder).values():
        trees = [ast.parse(variation.source) for variation in entry.variations]
        constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        own = found.setdefault(f"{entry.exercise}/{entry.id}", set())
        own |= {abs(value) for value in constants if isinstance(value, int | float)}
    return found


def is_other(constant: object, known: set[float]) -> bool:
    """Whether a paraphrase has a constant that no form or variation of the mistake has."""
    return isinstance(constant, int | float) and abs(constant) not in known


def test_two_mistakes_are_never_named_as_a_third(paraphrased: Paraphrased) -> None:
    """Of at least 12 files with two mistakes, none is told of a mistake that it does not hold."""
    wrong = {
        path.name: names
        for path in paraphrased.two
        if (names := paraphrased.named(path)) and not set(names) <= set(map(str, as_list(literal(path, "MISTAKES"))))
    }

    assert len(paraphrased.two) >= 12
    assert wrong == {}


def as_list(value: object) -> list[object]:
    """A list, or nothing."""
    return list(value) if isinstance(value, list) else []


def normal(source: str) -> str:
    """A module's functions without names of variables, docstrings and literals about itself."""
    tree = ast.parse(source)
    names: dict[str, str] = {}

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(names.setdefault(node.id, f"n{len(names)}"), node.ctx)

        def visit_arg(self, node: ast.arg) -> ast.arg:
            return ast.arg(names.setdefault(node.arg, f"n{len(names)}"))

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.returns, node.name = None, "f"
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            return self.generic_visit(node)

        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.Constant("text") if isinstance(node.value, str) else node

    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return "\n".join(ast.dump(Renamed().visit(node)) for node in functions)


def test_no_paraphrase_is_a_copy(paraphrased: Paraphrased) -> None:
    """None equals an entry of the gallery once names, docstrings and constants are left out."""
    entries = {normal(entry.variations[0].source): name for name, entry in gallery(paraphrased.folder).items()}
    same = {
        path.name: entries[normal(path.read_text(encoding="utf-8"))]
        for path in (*paraphrased.one, *paraphrased.two)
        if normal(path.read_text(encoding="utf-8")) in entries
    }

    assert same == {}
