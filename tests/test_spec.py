"""An assignment folder becomes a record, or a list of all its mistakes; its digests change with what decides."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import tempfile
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import SpecError, UsageError
from grader.model import Assignment, Check, Exercise, Limits
from grader.spec import check_digests, discover, find_assignment, find_course, load
from tests.assignment_builder import FILES, build

TOML = "assignments/halves/assignment.toml"
PUBLIC = "assignments/halves/checks/public/test_small.py"
HIDDEN = "assignments/halves/checks/hidden/test_large.py"
SOLUTION = "solutions/halves/halves.py"


def problems(course: Path, overrides: dict[str, str | bytes | None]) -> tuple[str, ...]:
    """What load says about an assignment with some files changed."""
    with pytest.raises(SpecError) as caught:
        load(build(course, overrides))
    return caught.value.problems


def checks_file(*checks: tuple[str, str, str]) -> str:
    """A check file of (exercise, name, needs as source)."""
    source = "import pytest\n"
    for exercise, name, needs in checks:
        source += f'@pytest.mark.check("{exercise}", needs={needs})\ndef test_{name}(student):\n    "{name}"\n'
    return source


def test_valid_folder_is_read(tmp_path: Path) -> None:
    """Everything that the folder says stands in the record."""
    folder = build(tmp_path)
    assert load(folder) == Assignment(
        id="halves",
        title="Halves and quarters",
        file="halves.py",
        folder=str(folder),
        solution=str(tmp_path / "solutions" / "halves" / "halves.py"),
        exercises=(Exercise("half", "Half of everything", 2.0), Exercise("quarter", "A quarter of everything", 0.3)),
        checks=(
            Check(
                id="half/small",
                exercise="half",
                title="Half of 1, 2 and 3",
                file="checks/public/test_small.py",
                function="test_small",
                line=12,
                hidden=False,
                hints=("Half of x is x times one half.",),
            ),
            Check(
                id="half/random",
                exercise="half",
                title="Half of normal numbers",
                file="checks/hidden/test_large.py",
                function="test_random",
                line=12,
                hidden=True,
                points=2.0,
                hints=("Multiply.", "By what?", "By 0.5."),
            ),
            Check(
                id="quarter/huge",
                exercise="quarter",
                title="A quarter of the largest number is finite",
                file="checks/hidden/test_large.py",
                function="test_huge",
                line=20,
                hidden=True,
                points=0.3,
            ),
        ),
        limits=Limits(call_s=2.5),
    )


def test_flags_are_read_and_stretch_is_no_part_of_the_points(tmp_path: Path) -> None:
    """Stretch and split come from the TOML file; an exercise is worth its other checks, summed exactly."""
    names = [f"c{number}" for number in range(10)]
    toml = FILES[TOML].replace("points = 0.3\n", "points = 1\n", 1)
    toml += "".join(f'[checks."quarter/{name}"]\npoints = 0.07\nsplit = true\n' for name in names)
    toml += '[checks."quarter/more"]\npoints = 5\nstretch = true\n'
    checks = checks_file(*(("quarter", name, "[]") for name in names), ("quarter", "more", "['c1', 'c1']"))
    more = {TOML: toml, "assignments/halves/checks/hidden/test_more.py": checks}
    assignment = load(build(tmp_path, more))
    assert assignment.exercises[1].points == 1.0
    last = assignment.checks[-1]
    assert (last.id, last.points, last.stretch, last.split, last.needs) == (
        "quarter/more",
        5,
        True,
        False,
        ("quarter/c1",),
    )
    assert [check.split for check in assignment.checks[-11:]] == [True] * 10 + [False]


def test_checks_come_after_what_they_need(tmp_path: Path) -> None:
    """The order is that of exercises, then public before hidden, file and line, except where a need says otherwise."""
    toml = FILES[TOML].partition("[checks")[0]
    hidden = ["half/a", "half/b", "half/c", "half/d", "quarter/e"]
    toml = toml.replace("points = 2\n", "points = 4\n").replace("points = 0.3\n", "points = 1\n")
    toml += "".join(f'[checks."{name}"]\npoints = 1\n' for name in hidden) + '[checks."half/z"]\n'
    files = {
        TOML: toml,
        HIDDEN: checks_file(("quarter", "e", "[]"), ("half", "a", "['d']"), ("half", "b", "[]")),
        "assignments/halves/checks/hidden/test_more.py": checks_file(("half", "c", "['a']"), ("half", "d", "()")),
        PUBLIC: checks_file(("half", "z", "[]")),
    }
    order = [check.id for check in load(build(tmp_path, files)).checks]
    assert order == ["half/z", "half/b", "half/d", "half/a", "half/c", "quarter/e"]


RANDOM = '[checks."half/random"]\npoints = 2\nhints = ["Multiply.", "By what?", "By 0.5."]\n'


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (TOML, "schema = 1", "schema = 2", ["schema: is 2, but this grader reads 1"]),
        (TOML, "schema = 1", "schema = true", ["schema: is true or false, but must be a whole number"]),
        (TOML, "schema = 1\n", "", ["schema: is missing"]),
        (TOML, "schema = 1", "schema = ", [": not valid TOML: Invalid value (at line 1, column 10)"]),
        (TOML, 'id = "halves"', 'id = "halfes"', ["id: is 'halfes', but the folder is called 'halves'"]),
        (TOML, 'id = "halves"', "id = 3", ["id: is a number, but must be a string"]),
        (TOML, 'id = "halves"', "id = 2026-01-01", ["id: is a date or time, but must be a string"]),
        (TOML, 'title = "Halves and quarters"', 'title = ""', ["title: is empty"]),
        (
            TOML,
            'title = "Halves and quarters"',
            'titel = "x"',
            ["titel: unknown key; did you mean 'title'?", "title: is"],
        ),
        *(
            (TOML, '"halves.py"', f'"{name}"', [f"file: '{name}' is not the name of a Python module"])
            for name in (
                "halves",
                "halves.txt",
                "../halves.py",
                "a/halves.py",
                "my-file.py",
                ".py",
                "class.py",
                "halves.py/",
            )
        ),
        (TOML, "call_s = 2.5", "cal_s = 2.5", ["limits.cal_s: unknown key; did you mean 'call_s'?"]),
        (TOML, "call_s = 2.5", "call_s = 0", ["limits.call_s: is 0, but must be more"]),
        (TOML, "call_s = 2.5", "call_s = -1", ["limits.call_s: is negative"]),
        (TOML, "call_s = 2.5", "call_s = true", ["limits.call_s: is true or false, but must be a number"]),
        (TOML, "call_s = 2.5", "call_s = inf", ["limits.call_s: is inf, but must be finite"]),
        (TOML, "call_s = 2.5", "memory_mb = 2.5", ["limits.memory_mb: is a number, but must be a whole number"]),
        (TOML, "[limits]\ncall_s = 2.5", "[[limits]]", ["limits: is a list, but must be a table"]),
        (
            TOML,
            "points = 2\n",
            "points = 3\n",
            ["exercises.half.points: is 3, but must be the sum of its hidden checks"],
        ),
        (TOML, "points = 2\n", 'points = "2"\n', ["exercises.half.points: is a string, but must be a number"]),
        (TOML, "points = 2\n", "points = true\n", ["exercises.half.points: is true or false, but must be a number"]),
        (TOML, "points = 2\n", "", ["exercises.half.points: is missing"]),
        (TOML, "points = 2\n", "points = nan\n", ["exercises.half.points: is nan, but must be finite"]),
        (
            TOML,
            "points = 2\n",
            "point = 2\n",
            ["exercises.half.point: unknown key; did you mean 'points'?", "exercises."],
        ),
        (TOML, RANDOM, RANDOM.replace("2", "true", 1), ['checks."half/random".points: is true or false, but must be']),
        (TOML, RANDOM, RANDOM.replace("2", "-2", 1), ['checks."half/random".points: is negative']),
        (
            TOML,
            RANDOM,
            RANDOM.replace("2", "0.001", 1),
            ['checks."half/random".points: is 0.001, but points are multip'],
        ),
        (TOML, RANDOM, RANDOM.replace("2", "0", 1), ['checks."half/random".points: is 0, but a hidden check must']),
        (TOML, RANDOM, RANDOM.replace("points = 2\n", ""), ['checks."half/random".points: is missing — say what']),
        (
            TOML,
            RANDOM,
            RANDOM.replace("points", "stretch = true\npoints"),
            ["exercises.half.points: is 2, but must be"],
        ),
        (TOML, RANDOM, RANDOM.replace("points", "stretch = 1\npoints"), ['checks."half/random".stretch: is a number']),
        (
            TOML,
            RANDOM,
            RANDOM.replace("points", "splitt = true\npoints"),
            ['checks."half/random".splitt: unknown key; did'],
        ),
        (TOML, '"Multiply."', '""', ['checks."half/random".hints: holds something else']),
        (TOML, '"Multiply."', "1", ['checks."half/random".hints: holds something else']),
        (TOML, RANDOM, "", ["checks/hidden/test_large.py:12: the check 'half/random' is not in assignment.toml — add"]),
        (
            TOML,
            "half/random",
            "half/randon",
            [
                "checks/hidden/test_large.py:12: the check 'half/random' is not in assignment.toml",
                "checks.\"half/randon\": there is no such check function; did you mean 'half/random'?",
            ],
        ),
        (
            TOML,
            '[checks."half/small"]',
            '[checks."half/gone"]\n[checks."half/small"]',
            ['checks."half/gone": there is no'],
        ),
        (
            TOML,
            RANDOM,
            RANDOM + '[checks."half/randon"]\n',
            ['checks."half/randon": there is no such check function — w'],
        ),
        (
            HIDDEN,
            '@pytest.mark.check("half")\n',
            "",
            ["checks/hidden/test_large.py:11: 'test_random' has no `check` mark"],
        ),
        (
            TOML,
            '[checks."half/small"]\n',
            '[checks."half/small"]\npoints = 1\nsplit = true\n',
            [
                'checks."half/small".points: a public check earns no',
                'checks."half/small".split: a public check earns no',
            ],
        ),
        (
            PUBLIC,
            'check("half")',
            'check("haff")',
            ["checks/public/test_small.py:12: unknown exercise 'haff'; did you mean"],
        ),
        (
            PUBLIC,
            "def test_small",
            "def test_random",
            [
                "checks/hidden/test_large.py:12: the id 'half/random' is taken by checks/public/test_small.py:12",
                'checks."half/small": there is no such check function',
            ],
        ),
        (PUBLIC, "def test", "def def test", ["checks/public/test_small.py:12: syntax error"]),
        (PUBLIC, '    """Half of 1, 2 and 3"""\n', "", ["checks/public/test_small.py:12: 'test_small' has no title"]),
        (
            PUBLIC,
            '@pytest.mark.check("half")\n',
            "",
            ["checks/public/test_small.py:11: 'test_small' has no `check` mark"],
        ),
        ("assignments/halves/reference.py", "def half", "def def half", ["reference.py:12: syntax error"]),
        (
            SOLUTION,
            "def quarter",
            "def quartre",
            [": no definition of the exercise 'quarter'; did you mean 'quartre'?"],
        ),
        (SOLUTION, "def half", "def def half", ["6: syntax error"]),
    ],
)
def test_one_mistake_is_told_once(tmp_path: Path, file: str, old: str, new: str, expected: list[str]) -> None:
    """A mistake is told with file and key or line, and does not bring others with it."""
    assert old in FILES[file]
    told = problems(tmp_path, {file: FILES[file].replace(old, new, 1)})
    assert len(told) == len(expected), told
    for problem, part in zip(told, expected, strict=True):
        assert part in problem
        assert problem.startswith((f"assignments/halves/{part}", "assignments/halves/assignment.toml: ", SOLUTION))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({TOML: None}, "assignments/halves/assignment.toml: there is no such file — add it"),
        ({TOML: b"id = '\xff'"}, "assignments/halves/assignment.toml:1: not UTF-8 (byte 0xff)"),
        ({SOLUTION: None}, "solutions/halves/halves.py: there is no such file — add it"),
        ({SOLUTION: b"\xff"}, "solutions/halves/halves.py:1: not UTF-8 (byte 0xff)"),
        ({HIDDEN: b"\xff"}, "assignments/halves/checks/hidden/test_large.py:1: not UTF-8 (byte 0xff)"),
        ({"assignments/halves/scenarios.py": "("}, "assignments/halves/scenarios.py:1: syntax error"),
    ],
)
def test_unreadable_file_is_one_mistake(
    tmp_path: Path, overrides: dict[str, str | bytes | None], expected: str
) -> None:
    """What cannot be known because of a broken file is not told as missing."""
    told = problems(tmp_path, overrides)
    assert len(told) == 1, told
    assert told[0].startswith(expected)


def test_missing_exercise_is_told_by_its_checks(tmp_path: Path) -> None:
    """Where an exercise is missing its checks say so; their tables are not told as stale."""
    toml = FILES[TOML].replace('[exercises.half]\ntitle = "Half of everything"\npoints = 2\n', "")
    told = problems(tmp_path, {TOML: toml})
    assert [problem.partition(": ")[2] for problem in told] == [
        "unknown exercise 'half' — add it to assignment.toml",
        "unknown exercise 'half' — add it to assignment.toml",
    ]


def test_no_exercises_and_no_hidden_checks(tmp_path: Path) -> None:
    """An assignment that can score nothing is refused."""
    toml = 'schema = 1\nid = "halves"\ntitle = "t"\nfile = "halves.py"\nexercises = {}\nchecks = {"half/small" = {}}\n'
    told = problems(tmp_path, {TOML: toml, HIDDEN: None})
    assert len(told) == 2
    assert told[0].startswith("assignments/halves/assignment.toml: exercises: names no exercise")
    assert told[1].startswith("assignments/halves/checks/hidden: there is no check")


@pytest.mark.parametrize("name", ["class", "my-half", "play", "2half"])
def test_exercise_must_be_a_name(tmp_path: Path, name: str) -> None:
    """An exercise is a Python name that `student` can have."""
    toml = FILES[TOML].replace("[limits]", f'[exercises."{name}"]\ntitle = "t"\npoints = 0\n[limits]')
    told = problems(tmp_path, {TOML: toml})
    assert any(f"exercises.{name}: an exercise cannot be called so" in problem for problem in told)


def test_solution_may_define_by_import_or_assignment(tmp_path: Path) -> None:
    """An exercise may be any name of the module, also one bound in a branch; one inside a function is none."""
    solution = "try:\n    from math import half\nexcept ImportError:\n    half = None\nquarter: int = 4\n"
    assert load(build(tmp_path, {SOLUTION: solution})).id == "halves"
    told = problems(tmp_path, {SOLUTION: "half = 1\nquarter: int\nquarter.x = 1\ndef f():\n    quarter = 2\n"})
    assert told == ("solutions/halves/halves.py: no definition of the exercise 'quarter' — add it",)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (("['b']", "['a']", "[]"), "checks need each other: half/a → half/b → half/a"),
        (("['a']", "[]", "[]"), "checks need each other: half/a → half/a"),
        (("['bb']", "[]", "[]"), "'half/a' needs 'bb', but 'half' has no such check; did you mean 'b'?"),
        (("['half/b']", "[]", "[]"), "'half/a' needs 'half/b', but 'half' has no such check — write its name only"),
        (("['e']", "[]", "[]"), "'half/a' needs 'e', a check of the exercise 'quarter'"),
        (("['quarter/e']", "[]", "[]"), "'half/a' needs 'quarter/e', a check of the exercise 'quarter'"),
        (("['small']", "[]", "[]"), "'half/a' needs 'small', which is not hidden as this check is"),
        (("[]", "['zzzzz']", "[]"), "'half/b' needs 'zzzzz', but 'half' has no such check"),
    ],
)
def test_needs_are_checked(tmp_path: Path, needs: tuple[str, str, str], expected: str) -> None:
    """A need is a check of the same exercise and kind, and no check waits for itself."""
    toml = FILES[TOML].partition('[checks."half/random"]')[0].replace("points = 0.3", "points = 1")
    toml += "".join(f'[checks."{name}"]\npoints = 1\n' for name in ("half/a", "half/b", "quarter/e"))
    hidden = checks_file(("half", "a", needs[0]), ("half", "b", needs[1]), ("quarter", "e", needs[2]))
    told = problems(tmp_path, {TOML: toml, HIDDEN: hidden})
    line = 6 if "'half/b' needs" in expected else 3
    assert len(told) == 1, told
    assert told[0].startswith(f"assignments/halves/checks/hidden/test_large.py:{line}: {expected}")


def test_needs_that_may_be_there_are_not_told(tmp_path: Path) -> None:
    """A need that only a broken file or a function without mark can meet is not called unknown."""
    toml = FILES[TOML].replace("points = 2\n", "points = 3\n", 1) + '[checks."half/more"]\npoints = 1\n'
    unmarked = FILES[HIDDEN].replace('@pytest.mark.check("half")\n', "")
    more = "assignments/halves/checks/hidden/test_more.py"
    for hidden in (unmarked, FILES[HIDDEN] + "("):
        told = problems(tmp_path, {TOML: toml, HIDDEN: hidden, more: checks_file(("half", "more", "['random']"))})
        assert len(told) == 1, told
        assert "test_large.py" in told[0]


def test_public_check_cannot_need_a_hidden_one(tmp_path: Path) -> None:
    """Hidden checks never ship, so a public one cannot wait for them."""
    public = FILES[PUBLIC].replace('check("half")', 'check("half", needs=["random"])')
    told = problems(tmp_path, {PUBLIC: public})
    assert len(told) == 1
    assert "'half/small' needs 'random', which is not public as this check is" in told[0]


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    """Mistakes in the TOML file, the check files and the solution come together, in this order."""
    told = problems(
        tmp_path,
        {
            TOML: FILES[TOML].replace("schema = 1", "schema = 9").replace("call_s", "cal_s").replace("0.3", "0.5", 1),
            PUBLIC: FILES[PUBLIC].replace("reference)", "refrence)"),
            HIDDEN: FILES[HIDDEN].replace("import torch", "import torch\nclass A: pass"),
            SOLUTION: FILES[SOLUTION].replace("def half", "def whole"),
        },
    )
    expected = [
        "assignments/halves/assignment.toml: schema: is 9",
        "assignments/halves/assignment.toml: limits.cal_s: unknown key",
        "assignments/halves/checks/hidden/test_large.py:7: class 'A'",
        "assignments/halves/checks/public/test_small.py:12: 'test_small' asks for an unknown 'refrence'",
        "solutions/halves/halves.py: no definition of the exercise 'half'",
        "assignments/halves/assignment.toml: exercises.quarter.points: is 0.5, but must be the sum",
    ]
    assert len(told) == len(expected), told
    for problem, start in zip(told, expected, strict=True):
        assert problem.startswith(start)


def test_nothing_is_run(tmp_path: Path) -> None:
    """No file of an assignment is executed by loading it, and neither torch nor pytest is imported."""
    bomb = f"open({str(tmp_path / 'boom')!r}, 'w')\n"
    files: dict[str, str | bytes | None] = {
        name: source + bomb for name, source in FILES.items() if name.endswith(".py")
    }
    files |= {
        f"assignments/halves/{name}": bomb for name in ("scenarios.py", "conftest.py", "checks/hidden/conftest.py")
    }
    folder = build(tmp_path, files)
    script = (
        "import pathlib, sys\nfrom grader import spec, stubs\n"
        "a = spec.load(pathlib.Path(sys.argv[1]))\nspec.check_digests(a, 's', 1)\n"
        "print(sorted({'torch', 'pytest', '_pytest'} & sys.modules.keys()))"
    )
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "[]\n"
    assert not (tmp_path / "boom").exists()


def test_folders_are_found(tmp_path: Path) -> None:
    """A course is found from anywhere inside it; its assignments come by name, hidden folders left out."""
    folder = build(tmp_path)
    (tmp_path / "assignments" / "amp").mkdir()
    (tmp_path / "assignments" / "__pycache__").mkdir()
    (tmp_path / "assignments" / ".git").mkdir()
    (tmp_path / "assignments" / "README.md").write_text("", encoding="utf-8")
    assert find_course(tmp_path) == find_course(folder / "checks" / "hidden") == find_course(folder / "x") == tmp_path
    assert discover(tmp_path) == [tmp_path / "assignments" / "amp", folder]
    assert find_assignment(tmp_path, "halves") == folder
    with pytest.raises(UsageError, match=r"no assignment 'halfs' in .*; did you mean 'halves'"):
        find_assignment(tmp_path, "halfs")
    with pytest.raises(UsageError, match=r"no assignment 'zzz' in .* there are: amp, halves"):
        find_assignment(tmp_path, "zzz")


def test_no_course_is_a_usage_error(tmp_path: Path) -> None:
    """Outside a course the message names the place where the search began."""
    with pytest.raises(UsageError, match=r"neither .*nowhere nor a folder above it holds `assignments/`"):
        find_course(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is no course"):
        discover(tmp_path)


def test_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may be given relative to where one stands, even as `.`."""
    folder = build(tmp_path)
    monkeypatch.chdir(folder)
    assert load(Path()) == load(Path("checks/..")) == load(folder)


def digests(course: Path, seed_hash: str = "seed", wire_version: int = 1) -> dict[str, str]:
    """The digests of the assignment in a course."""
    return check_digests(load(course / "assignments" / "halves"), seed_hash, wire_version)


CHANGES = {
    "a check's module": ("checks/hidden/test_large.py", {"half/random", "quarter/huge"}),
    "a public module": ("checks/public/test_small.py", {"half/small"}),
    "the reference": ("reference.py", {"half/small", "half/random", "quarter/huge"}),
    "scenarios": ("scenarios.py", {"half/small", "half/random", "quarter/huge"}),
    "a helper": ("checks/hidden/helper.py", {"half/small", "half/random", "quarter/huge"}),
    "a shared helper": ("checks/helper.py", {"half/small", "half/random", "quarter/huge"}),
    "the handout": ("handout.md", set()),
    "a mistake": ("mistakes/naive.py", set()),
    "the solution": ("../../solutions/halves/halves.py", set()),
}


@pytest.mark.parametrize(("file", "changed"), CHANGES.values(), ids=CHANGES)
def test_digest_covers_what_decides(tmp_path: Path, file: str, changed: set[str]) -> None:
    """A check's digest changes with its module, the reference, scenarios and helpers, and with nothing else."""
    path = build(tmp_path) / file
    before = digests(tmp_path)
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + "# more\n", encoding="utf-8")
    after = digests(tmp_path)
    assert {name for name in before if before[name] != after[name]} == changed
    if path.name == "helper.py":
        path.rename(path.with_name("other.py"))
        assert digests(tmp_path) != after


FORBIDDING = FILES[TOML].replace('title = "Half of everything"', 'title = "Half of everything"\nforbidden = {}')


def test_forbidden_names_are_read(tmp_path: Path) -> None:
    """In the order of the file, for the exercise that lists them; the others may use everything."""
    assignment = load(build(tmp_path, {TOML: FORBIDDING.format('["logsumexp", "softmax"]')}))

    assert [exercise.forbidden for exercise in assignment.exercises] == [("logsumexp", "softmax"), ()]
    assert assignment.forbidden == {"half": ("logsumexp", "softmax")}
    assert load(build(tmp_path / "none", {TOML: FORBIDDING.format("[]")})).forbidden == {}
    assert load(build(tmp_path / "nothing")).forbidden == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["torch.softmax"]', ["'torch.softmax' is no function's name — write it without `torch.`, like 'softmax'"]),
        ('["soft max", "a-b", "softmax"]', ["'soft max' is no function's name", "'a-b' is no function's name"]),
        ('"softmax"', ["is a string, but must be a list"]),
        ("true", ["is true or false, but must be a list"]),
        ("[1]", ["holds something else than"]),
        ('[""]', ["holds something else than"]),
    ],
)
def test_forbidden_must_be_names(tmp_path: Path, value: str, expected: list[str]) -> None:
    """A list of names as they stand behind `torch.`; anything else is told with its key."""
    told = problems(tmp_path, {TOML: FORBIDDING.format(value)})

    assert len(told) == len(expected), told
    for problem, part in zip(told, expected, strict=True):
        assert problem.startswith("assignments/halves/assignment.toml: exercises.half.forbidden: ")
        assert part in problem


def test_what_is_forbidden_everywhere_is_forbidden_in_each_exercise(tmp_path: Path) -> None:
    """A list at the top comes first, and a name that stands in both counts once."""
    toml = FORBIDDING.format('["softmax", "logsumexp"]').replace(
        "\n[limits]", '\nforbidden = ["exp", "softmax"]\n[limits]'
    )

    assert load(build(tmp_path, {TOML: toml})).forbidden == {
        "half": ("exp", "softmax", "logsumexp"), "quarter": ("exp", "softmax"),
    }  # fmt: skip
    told = problems(tmp_path / "bad", {TOML: toml.replace('"exp"', '"torch.exp"')})
    assert len(told) == 1
    assert told[0].startswith("assignments/halves/assignment.toml: forbidden: 'torch.exp' is no function's name")


def test_digest_covers_what_is_forbidden(tmp_path: Path) -> None:
    """What an exercise must do without decides its checks' outcomes, and no others; so does each name, apart."""
    values = ["[]", '["softmax"]', '["softmax", "logsumexp"]', '["softmaxlogsumexp"]', '["soft", "maxlogsumexp"]']
    for number, value in enumerate(values):
        build(tmp_path / str(number), {TOML: FORBIDDING.format(value)})
    build(tmp_path / "none")
    found = [digests(tmp_path / str(number)) for number in range(len(values))]

    assert found[0] == digests(tmp_path / "none")
    assert len({one["quarter/huge"] for one in found}) == 1
    assert len({one["half/random"] for one in found}) == len(values)


def test_digest_is_stable_and_free_of_points(tmp_path: Path) -> None:
    """Points, hints and the place of the course change no digest; seed and wire version change all."""
    build(tmp_path / "a")
    toml = FILES[TOML].replace("points = 2\n", "points = 5\n").replace("Multiply", "Divide").replace("Half", "Semi")
    build(tmp_path / "b", {TOML: toml})
    first = digests(tmp_path / "a")
    assert first == digests(tmp_path / "b")
    assert len(set(first.values())) == 3
    assert all(len(digest) == 64 for digest in first.values())
    for other in (digests(tmp_path / "a", seed_hash="seed1"), digests(tmp_path / "a", wire_version=2)):
        assert not set(first.values()) & set(other.values())
    # no part can lend its last letters to the next one
    assert digests(tmp_path / "a", "seed1", 1) != digests(tmp_path / "a", "seed", 11)


def test_empty_scenarios_differ_from_none(tmp_path: Path) -> None:
    """An empty file is not the same as no file."""
    build(tmp_path)
    before = digests(tmp_path)
    build(tmp_path, {"assignments/halves/scenarios.py": ""})
    assert digests(tmp_path) != before


def as_toml(value: object) -> str:
    """A value as inline TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan")


def check_valid(assignment: Assignment) -> None:
    """What must hold of every assignment that is not refused."""
    assert msgspec.json.decode(msgspec.json.encode(assignment), type=Assignment) == assignment
    exercises = {exercise.id: exercise for exercise in assignment.exercises}
    seen: list[str] = []
    for check in assignment.checks:
        assert check.id == f"{check.exercise}/{check.function.removeprefix('test_')}"
        assert check.id not in seen
        assert check.exercise in exercises
        assert set(check.needs) <= set(seen)
        assert check.title
        assert (check.points > 0) is check.hidden
        seen.append(check.id)
    for exercise in assignment.exercises:
        core = [
            check.points for check in assignment.hidden_checks if check.exercise == exercise.id and not check.stretch
        ]
        assert Fraction(str(exercise.points)) == sum((Fraction(str(points)) for points in core), Fraction(0))
    assert assignment.hidden_checks
    numbers = [getattr(assignment.limits, name) for name in assignment.limits.__struct_fields__]
    assert all(type(number) in (int, float) and 0 < number < 1e7 for number in numbers)


def load_changed(overrides: dict[str, str | bytes | None]) -> None:
    """Load an assignment with changed files: it is valid, or refused with sentences that name the file."""
    told: tuple[str, ...] = ("assignments/halves/: fine",)
    with tempfile.TemporaryDirectory() as course:
        try:
            check_valid(load(build(Path(course), overrides)))
        except SpecError as exc:
            told = exc.problems
    assert told
    assert all(problem.startswith(("assignments/halves/", "solutions/halves/")) for problem in told)


VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-3, 3),
        st.sampled_from([2, 0.3, 1e308, 10**30, float("nan"), float("-inf"), 1e-9]),
        st.sampled_from(["", "half", "halves.py", "x", "é"]),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["points", "title", "x"]), inner),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["points", "point", "title", "half", "half/small", "quarter/huge", "stretch", "hints", "", 'a"b']
)


@settings(max_examples=150, deadline=None)  # each example writes a folder: the disk decides how long that takes
@given(st.integers(0, 10_000), VALUES, KEYS, st.integers(1, 3))
def test_changed_tables_are_valid_or_refused(seed: int, value: object, key: str, times: int) -> None:
    """Whatever stands where in the TOML file, loading ends in a valid assignment or in SpecError."""
    top: dict[str, Any] = tomllib.loads(FILES[TOML])
    choose = random.Random(seed)
    for _ in range(times):
        table = top
        while (inner := [item for item in table.values() if isinstance(item, dict)]) and choose.random() < 0.7:
            table = choose.choice(inner)
        if table:
            old = choose.choice(list(table))
            if choose.random() < 0.3:
                table[key] = table.pop(old)
            else:
                table[old if choose.random() < 0.8 else key] = copy.deepcopy(value)
    load_changed({TOML: "".join(f"{json.dumps(name)} = {as_toml(item)}\n" for name, item in top.items())})


@settings(max_examples=150, deadline=None)  # as above
@given(
    st.sampled_from([TOML, PUBLIC, HIDDEN, SOLUTION, "assignments/halves/reference.py"]),
    st.integers(0, 900),
    st.integers(0, 40),
    st.sampled_from(["", "(", '"', "\n", "\n    ", "\0", "é", "\ufeff", "@pytest.mark.check('half')\n", "# ", "skip"]),
)
def test_changed_texts_are_valid_or_refused(file: str, start: int, length: int, new: str) -> None:
    """Whatever is cut out of a file or put into it, loading ends in a valid assignment or in SpecError."""
    text = FILES[file]
    load_changed({file: text[:start] + new + text[start + length :]})
