"""`check` in a notebook judges the functions of the kernel, and keeps standard error for failures."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import torch

import grader
from grader import spec
from grader.diagnose import SCHEMA, SIGNATURES
from grader.errors import GraderError
from grader.handle import LocalHandle
from grader.jupyter import WIDTH, check
from grader.model import Exercise, Signature, Signatures
from grader.probe import ask, read_probes
from grader.release import build, write
from tests import assignment_builder
from tests.assignment_builder import FILES
from tests.test_local import HIDDEN, THIRD, THIRD_CHECK
from tests.test_release import MORE_PUBLIC, MORE_TOML, PUBLIC, SOLUTION, TOML

SCENARIO = '''

@pytest.mark.check("half")
def test_twice(student):
    """Half of a half, played beside the functions, and the slope of one half"""
    assert student.half.vjp(torch.ones(1))[1][0].tolist() == [0.5]
    assert student.play("twice", x=torch.tensor([4.0])).tolist() == [1.0]
'''
FORBIDDEN = 'points = 2\nforbidden = ["softmax"]\n'
TWICE = '[checks."half/twice"]\nhints = ["Halve."]\n'
SCENARIOS = "def twice(student, x):\n    return student.half(student.half(x))\n"
HALF = "def half(x):\n    return x * 0.5\n"
Cell = Callable[[str], None]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a scenario, a check that needs another, and an exercise without public checks."""
    course = tmp_path_factory.mktemp("course")
    overrides = {
        PUBLIC: FILES[PUBLIC] + MORE_PUBLIC + SCENARIO,
        HIDDEN: FILES[HIDDEN] + THIRD_CHECK,
        TOML: FILES[TOML].replace("points = 2\n", FORBIDDEN, 1) + MORE_TOML + THIRD + TWICE,
        SOLUTION: FILES[SOLUTION] + "\n\ndef third(x):\n    return x / 3\n",
        "assignments/halves/checks/public/scenarios.py": SCENARIOS,
    }
    write(build(spec.load(assignment_builder.build(course, overrides))), course / "release")
    return course / "release"


@pytest.fixture
def folder(released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's copy of it, in which the kernel runs."""
    mine = Path(shutil.copytree(released, tmp_path / "mine"))
    monkeypatch.chdir(mine)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    return mine


@pytest.fixture
def cell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Runs a cell in the namespace of a kernel, which `check` finds as `__main__`."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    cells: list[str] = []

    def run(source: str) -> None:
        cells.append(source)
        exec(compile(source, f"/tmp/ipykernel_1/{len(cells)}.py", "exec", dont_inherit=True), vars(main))

    return run


def test_all_pass(cell: Cell, capsys: Capture) -> None:
    """One line, on standard output; nothing is returned, since nbgrader would take it for points."""
    cell(HALF)
    check("half")

    told = capsys.readouterr()
    assert told.out == "✓ 2 of 2 public checks of `half` passed; hidden checks grade it\n"
    assert told.err == ""


def test_the_call_of_a_tests_cell(cell: Cell, capsys: Capture) -> None:
    """As the cell has it, imported from the package itself, and again in the same kernel."""
    cell(HALF)
    for _ in range(3):
        cell('from grader import check\n\ncheck("half")')
        assert capsys.readouterr() == ("✓ 2 of 2 public checks of `half` passed; hidden checks grade it\n", "")


def test_a_failure_is_told_on_standard_error(cell: Cell, capsys: Capture) -> None:
    """In the words of `grader check`, with what was not tried; nothing is raised, nothing goes to standard output."""
    cell("def quarter(x):\n    return x * 0.5\n")
    check("quarter")

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "✗ quarter/first\n"
        "  A quarter of one number\n"
        "\n"
        "  halves.ipynb · the result is off by 2.1e+06 eps; 0 are allowed (quartering is\n"
        "  exact)\n"
        "\n"
        "      call      quarter([1] float32[1])\n"
        "      expected  [0.25] float32[1]\n"
        "      got       [0.5] float32[1]\n"
        "      detail    at index [0]: got 0.5, expected 0.25\n"
        "\n"
        "- quarter/some was not tried: it builds on quarter/first\n"
        "\n"
        "0 of 2 public checks of `quarter` passed\n"
    )


def test_a_known_mistake_is_named(cell: Cell, capsys: Capture, folder: Path, tmp_path: Path) -> None:
    """The release knows how the mistakes of the gallery answer, and says which of them this is."""
    probes = 'import torch\nfrom grader.probe import call\nPROBES = {"half": {"two": call(torch.tensor([2.0]))}}\n'
    (tmp_path / "probes.py").write_text(probes, encoding="utf-8")
    asked = read_probes(tmp_path, [Exercise("half", "", 1.0)])
    right, wrong = (ask(LocalHandle(source, "halves.py"), asked) for source in (HALF, HALF.replace("0.5", "2")))
    mistakes = (Signature("half_doubled", "half", "You double where you should halve.", wrong),)
    (folder / "checks" / SIGNATURES).write_bytes(msgspec.json.encode(Signatures(SCHEMA, asked, right, mistakes)))
    cell(HALF.replace("0.5", "2"))
    check("half")
    assert "\n\n  why   You double where you should halve.\n" in capsys.readouterr().err


def test_the_namespace_is_live(cell: Cell, capsys: Capture) -> None:
    """What a name means now is what counts: functions may call others of other cells, and be written again."""
    cell("def half(x):\n    return helper(x)\n")
    cell("def helper(x):\n    return x\n")
    check("half")
    assert "✗ half/small" in capsys.readouterr().err
    cell("def helper(x):\n    return x / 2\n")
    check("half")
    assert capsys.readouterr().out.startswith("✓ 2 of 2")


def test_a_cell_that_was_not_run_is_told(cell: Cell, capsys: Capture) -> None:
    """The name is missing in the kernel, however well it is written in the notebook."""
    check("half")
    assert "halves.ipynb · there is no function `half` yet: run the cell that defines it\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sources", "where"),
    [
        (["def half(x):\n\n    return 1 / 0\n"], " at line 3 of its cell"),
        (
            ["\n\n\n\ndef helper(x):\n    return 1 / 0\n", "def half(x):\n    return helper(x)\n"],
            " at line 2 of its cell",
        ),
        (["import functools\n@functools.cache\ndef half(x):\n    return 1 / 0\n"], " at line 4 of its cell"),
        (["class half:\n    def __init__(self, x):\n        1 / 0\n"], ""),
        (["half = divmod"], ""),
    ],
)
def test_where_it_raised(cell: Cell, capsys: Capture, sources: list[str], where: str) -> None:
    """Lines are counted in the cell of the function itself, as Jupyter numbers them."""
    for source in sources:
        cell(source)
    check("half")
    kind = "TypeError" if "divmod" in sources[0] else "ZeroDivisionError"
    assert f"  halves.ipynb · `half` raised {kind}{where}\n" in capsys.readouterr().err


def test_a_line_of_an_imported_file_is_not_told(cell: Cell, capsys: Capture, folder: Path) -> None:
    """It would be taken for a line of the cell."""
    (folder / "mine.py").write_text("def half(x):\n    return 1 / 0\n", encoding="utf-8")
    cell("import sys; sys.path.insert(0, '.')\nfrom mine import half\nsys.path.remove('.'); del sys.modules['mine']")
    check("half")
    assert "`half` raised ZeroDivisionError\n" in capsys.readouterr().err


def test_what_the_code_writes_is_no_failure(cell: Cell, capfd: pytest.CaptureFixture[str]) -> None:
    """A warning on standard error would cost the cell its points."""
    cell("import sys, warnings\ndef half(x):\n    print('here', file=sys.stderr)\n    return x * 0.5\n")
    check("half")
    told = capfd.readouterr()
    assert (told.out.count("here"), told.err) == (4, "")
    assert told.out.endswith("✓ 2 of 2 public checks of `half` passed; hidden checks grade it\n")


def test_lines_are_short_enough_for_validate(cell: Cell, capsys: Capture) -> None:
    """nbgrader cuts at 87 characters and indents by 4; what goes on stays below where it began, and none is lost."""
    text = " ".join(f"word{number}" for number in range(100)) + " " + "x" * 200 + "\t\x1b[31m"
    cell(f"def half(x):\n    raise ValueError({text!r})\n")
    check("half")
    lines = capsys.readouterr().err.split("\n")
    assert max(map(len, lines)) == WIDTH
    first = next(number for number, line in enumerate(lines) if line.startswith("      detail    ValueError: word0 "))
    detail = lines[first : lines.index("", first)]
    assert all(line.startswith(" " * 16) for line in detail[1:])
    joined = " ".join(line.strip() for line in detail)
    assert "word98 word99 x" in joined
    assert joined.count("x") == 200 + 1
    assert joined.endswith("x\\t\\x1b[31m")


def test_without_public_checks(cell: Cell, capsys: Capture) -> None:
    """There is nothing to fail: `validate` must not say that no credit will be given."""
    check("third")
    assert capsys.readouterr() == ("`third` has no public checks; hidden ones will grade it\n", "")


def test_an_unknown_exercise(cell: Cell, capsys: Capture) -> None:
    """One sentence with the names that there are; no traceback."""
    check("halve")
    sentence = "there is no exercise `halve`; this assignment has: half, quarter, third\n"
    assert capsys.readouterr() == ("", sentence)


def test_the_release_is_found_from_below(cell: Cell, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may run up to two folders below it; from further away it is told that there is none."""
    cell(HALF)
    deep = Path("one/two/three")
    deep.mkdir(parents=True)
    for folder in ("one", "two"):
        monkeypatch.chdir(folder)
        check("half")
        assert capsys.readouterr().out.startswith("✓ 2 of 2")
    monkeypatch.chdir("three")
    check("half")
    told = capsys.readouterr()
    assert told.out == ""
    assert " ".join(told.err.split()).replace(" ", "") == (
        f"{Path.cwd()} is not a release folder: it has no manifest.json. Keep the notebook in the folder you were given"
    ).replace(" ", "")


@pytest.mark.parametrize("name", ["checks/checks.json", "checks/expected.json", "checks/test_small.py"])
def test_a_damaged_release(cell: Cell, capsys: Capture, folder: Path, name: str) -> None:
    """Told in a sentence, and never a success."""
    cell(HALF)
    path = folder / name
    path.unlink() if path.suffix == ".py" else path.write_bytes(b"{")
    check("half")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("fresh copy of the release\n")


def test_autograding_gives_no_points_for_public_checks(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nbgrader runs cells itself, an error is what keeps a tests cell from earning everything."""
    cell(HALF)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(GraderError, match="nbgrader runs without the grader's configuration"):
        check("half")
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    check("half")


def test_the_kernel_is_left_as_it_was(cell: Cell, capsys: Capture) -> None:
    """Random numbers go on where they were; what a cell has set for all of torch does not reach a check, and stays."""
    cell(HALF)
    torch.manual_seed(5)
    random.seed(5)
    expected = (torch.rand(3).tolist(), random.random())
    torch.manual_seed(5)
    random.seed(5)
    torch.set_default_dtype(torch.float64)
    before = set(sys.modules)
    try:
        with torch.no_grad():
            check("half")
            assert not torch.is_grad_enabled()
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert capsys.readouterr().out.startswith("✓ 2 of 2")
    assert (torch.rand(3).tolist(), random.random()) == expected
    assert {name for name in set(sys.modules) - before if "test_small" in name} == set()


def test_what_is_forbidden_is_refused(cell: Cell, capsys: Capture) -> None:
    """As in grading, when it is reached; the rest of the kernel may go on using it."""
    cell("import torch\ndef half(x):\n    x.softmax(0)\n    return x * 0.5\n")
    check("half")
    assert "`half` uses the library's `softmax`" in capsys.readouterr().err
    cell("assert torch.ones(2).softmax(0).tolist() == [0.5, 0.5]")


def test_ctrl_c_ends_the_cell(cell: Cell) -> None:
    """The student has pressed it: it is no failure of the function."""
    cell("def half(x):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        check("half")


def test_the_package_has_this_one_name() -> None:
    """`check` is found where the cell looks for it; another name is an ordinary mistake."""
    assert grader.check is check
    with pytest.raises(AttributeError, match="module 'grader' has no attribute 'chek'"):
        getattr(grader, "chek")  # noqa: B009 - mypy knows that it is not there
