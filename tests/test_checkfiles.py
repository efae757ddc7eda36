"""Check files are read without being run, and everything that would surprise while grading is told before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grader.checkfiles import CheckFiles, CheckFunction, scan

if TYPE_CHECKING:
    from pathlib import Path

FINE = '''\
import pytest

@pytest.mark.check("half", needs=["small", "tiny"], device="cuda")
@pytest.mark.parametrize("dtype, n", [(1, 2)], ids=str)
@pytest.mark.parametrize(argnames=["m"], argvalues=range(3))
@pytest.mark.filterwarnings("ignore")
def test_huge(student, reference, dtype, n, m, extra=None, *, more=None):
    """
    The result stays finite

    at 1e38
    """
'''


def read(folder: Path, source: str | bytes, file: str = "checks/hidden/test_a.py") -> tuple[CheckFiles, list[str]]:
    """What one check file gives, and what is told of it."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source.encode() if isinstance(source, str) else source)
    problems: list[str] = []
    return scan(folder, "a", problems), problems


def test_check_is_read(tmp_path: Path) -> None:
    """All that a check says of itself is found: exercise, title, needs, device, place."""
    found, problems = read(tmp_path, FINE)
    assert problems == []
    assert found.complete
    assert found.checks == [
        CheckFunction(
            name="huge",
            exercise="half",
            title="The result stays finite",
            file="checks/hidden/test_a.py",
            line=7,
            hidden=True,
            needs=("small", "tiny"),
            device="cuda",
        )
    ]
    assert found.checks[0].id == "half/huge"


@pytest.mark.parametrize(
    "source",
    [
        FINE.replace("import pytest", "import pytest as pt").replace("@pytest.", "@pt."),
        FINE.replace("import pytest", "from pytest import mark as m_").replace("@pytest.mark", "@m_"),
    ],
)
def test_marks_are_known_under_any_name(tmp_path: Path, source: str) -> None:
    """An import under another name changes nothing."""
    found, problems = read(tmp_path, source)
    assert problems == []
    assert [check.id for check in found.checks] == ["half/huge"]


def test_order_is_public_first_then_file_and_line(tmp_path: Path) -> None:
    """Checks come public before hidden, then by file name, then by line; helpers are not read."""
    one = '@pytest.mark.check("e")\ndef test_{}(student):\n    "t"\n'
    read(tmp_path, one.format("d") + one.format("c"), "checks/hidden/test_a.py")
    read(tmp_path, one.format("z"), "checks/public/test_b.py")
    read(tmp_path, "class Helper: (", "checks/hidden/helper.py")
    found, problems = read(tmp_path, one.format("y"), "checks/public/test_a.py")
    assert problems == []
    assert [check.name for check in found.checks] == ["y", "z", "d", "c"]


def check(mark: str = '@pytest.mark.check("half")', head: str = "def test_a(student):", body: str = '"t"') -> str:
    """A check file, by default without mistakes; the mark stands on line 2, the function on line 3."""
    return f"import pytest\n{mark}\n{head}\n    {body}\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(check("class A: pass"), ["2: class 'A'", "3: 'test_a' has no `check` mark"], id="class"),
        pytest.param(check(head="async def test_a(student):"), ["3: 'test_a' looks like a check"], id="async"),
        pytest.param(check(head="def testa(student):"), ["3: 'testa' looks like a check"], id="no underscore"),
        pytest.param(check(head="def test_(student):"), ["3: 'test_' looks like a check"], id="no name"),
        pytest.param(check() + "if 1:\n    def test_b(): pass\n", ["6: 'test_b' looks like a check"], id="inside if"),
        pytest.param(
            check() + "try:\n    from x import test_b\nexcept ImportError:\n    test_c = 1\n",
            ["6: 'test_b' looks like a check", "8: 'test_c' looks like a check"],
            id="other ways to get a name",
        ),
        pytest.param(check() + "from torch import testing\ndef f():\n    def test_b(): pass\n", [], id="helpers"),
        pytest.param(check() + check().partition("\n")[2], ["6: 'test_a' replaces the one of line 3"], id="twice"),
        pytest.param(check() + "pytestmark = []\n", ["5: `pytestmark` has no place"], id="pytestmark"),
        pytest.param(check(body="pass"), ["3: 'test_a' has no title"], id="no docstring"),
        pytest.param(check(body="' \\n x'"), [], id="title on the second line"),
        pytest.param(check(body="'  '"), ["3: 'test_a' has no title"], id="empty docstring"),
        pytest.param(check("#"), ["3: 'test_a' has no `check` mark — add"], id="no mark"),
        pytest.param(
            check('@pytest.mark.chek("half")'),
            ["2: unknown mark 'chek'; did you mean 'check'?", "3: 'test_a' has no `check` mark"],
            id="misspelt mark",
        ),
        pytest.param(check('@pytest.mark.check("a")\n@pytest.mark.check("b")'), ["3: 'test_a' has a second"], id="two"),
        pytest.param(check("@pytest.mark.check"), ["2: `check` takes one exercise"], id="not called"),
        pytest.param(check("@pytest.mark.check()"), ["2: `check` takes one exercise"], id="no exercise"),
        pytest.param(check("@pytest.mark.check(EXERCISE)"), ["2: `check` takes one exercise"], id="not literal"),
        pytest.param(check("@pytest.mark.check(1)"), ["2: `check` takes one exercise"], id="number"),
        pytest.param(check('@pytest.mark.check("a", ["b"])'), ["2: `check` takes one exercise"], id="two arguments"),
        pytest.param(
            check('@pytest.mark.check("half", need=["b"])'),
            ["2: `check` does not know 'need'; did you mean 'needs'?"],
            id="unknown keyword",
        ),
        pytest.param(check('@pytest.mark.check("half", **more)'), ["2: `check` does not know '**'"], id="stars"),
        pytest.param(
            check('@pytest.mark.check("half", needs=NEEDS)'), ["2: `needs` is not a literal"], id="needs name"
        ),
        pytest.param(check('@pytest.mark.check("half", needs="b")'), ["2: `needs` is not a literal"], id="needs text"),
        pytest.param(check('@pytest.mark.check("half", needs=[1])'), ["2: `needs` is not a literal"], id="needs 1"),
        pytest.param(
            check('@pytest.mark.check("half", device="cudo")'),
            ['2: `device` is neither "cpu" nor "cuda"; did you mean \'cuda\'?'],
            id="unknown device",
        ),
        pytest.param(check('@pytest.mark.check("half", device=d)'), ["2: `device` is neither"], id="device a name"),
        pytest.param(
            check(head="def test_a(student, refrence):"),
            ["3: 'test_a' asks for an unknown 'refrence'; did you mean 'reference'?"],
            id="misspelt reference",
        ),
        pytest.param(
            check(head="def test_a(studnet):"),
            ["3: 'test_a' asks for an unknown 'studnet'; did you mean 'student'?"],
            id="misspelt student",
        ),
        pytest.param(
            check(head="def test_a(student, studnet):"),
            ["3: 'test_a' asks for an unknown 'studnet' — a check may ask for"],
            id="what is meant is there already",
        ),
        pytest.param(
            check(head="def test_a(student, tmp_path, *, capsys):"),
            ["3: 'test_a' asks for an unknown 'tmp_path' — a check", "3: 'test_a' asks for an unknown 'capsys'"],
            id="pytest's fixtures",
        ),
        pytest.param(check(head="def test_a(reference):"), ["3: 'test_a' does not ask for `student`"], id="no student"),
        pytest.param(
            check('@pytest.mark.parametrize(N, [1])\n@pytest.mark.check("half")', "def test_a(student, n):"),
            ["2: the names in `parametrize` are not literals"],
            id="parametrize a name",
        ),
        pytest.param(
            check('@pytest.mark.parametrize\n@pytest.mark.check("half")', "def test_a(student):"),
            ["2: the names in `parametrize` are not literals"],
            id="parametrize not called",
        ),
        pytest.param(
            check('@pytest.mark.parametrize("n", [])\n@pytest.mark.check("half")', "def test_a(student, n):"),
            ["2: `parametrize` without values"],
            id="no values",
        ),
        pytest.param(
            check('@pytest.mark.parametrize("n", [1], True)\n@pytest.mark.check("half")', "def test_a(student, n):"),
            ["2: `indirect` has no place"],
            id="indirect",
        ),
        pytest.param(
            check('@pytest.mark.parametrize("dtypes", [1])\n@pytest.mark.check("half")', "def test_a(student, dtype):"),
            [
                "4: 'test_a' asks for an unknown 'dtype'; did you mean 'dtypes'?",
                "4: 'test_a' has no argument 'dtypes', which is parametrized; did you mean 'dtype'?",
            ],
            id="parametrized otherwise",
        ),
        pytest.param(
            check(
                '@pytest.mark.parametrize("student, n, n", [])\n@pytest.mark.check("half")', "def test_a(student, n):"
            ),
            ["2: `parametrize` without values", "4: 'test_a' gets 'n', 'student' twice"],
            id="bound twice",
        ),
        pytest.param(check(body="'t'; pytest.skip('no')"), ["4: `pytest.skip` has no place"], id="skip"),
        pytest.param(check(body="'t'; pytest.xfail('no')"), ["4: `pytest.xfail` has no place"], id="xfail"),
        pytest.param(check(body="'t'; pytest.exit('no')"), ["4: `pytest.exit` has no place"], id="exit"),
        pytest.param(check(body="'t'; student.skip(1)"), [], id="an exercise called skip"),
        pytest.param(
            "from pytest import importorskip as need\nt = need('torch')\n" + check(),
            ["2: `pytest.importorskip` has no place"],
            id="importorskip under another name",
        ),
        pytest.param(
            check(body="'t'\n    import unittest as u\n    raise u.SkipTest"),
            ["6: `unittest.SkipTest` has no place"],
            id="unittest",
        ),
        pytest.param(
            check('@pytest.mark.skipif(True, reason="")\n@pytest.mark.skip\n@pytest.mark.check("half")'),
            ["2: `pytest.mark.skipif` has no place", "3: `pytest.mark.skip` has no place"],
            id="skip marks",
        ),
        pytest.param(
            check(
                '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.xfail)])\n@pytest.mark.check("half")',
                "def test_a(student, n):",
            ),
            ["2: `pytest.mark.xfail` has no place"],
            id="xfail on a case",
        ),
        pytest.param(
            check('@pytest.mark.usefixtures("tmp_path")\n@pytest.mark.check("half")'),
            ["2: `pytest.mark.usefixtures` has no place"],
            id="usefixtures",
        ),
        pytest.param(check() + "@pytest.fixture\ndef x(): pass\n", ["5: `pytest.fixture` has no place"], id="fixture"),
        pytest.param("def f(:\n", ["1: syntax error: "], id="syntax"),
        pytest.param("x = 1\nreturn\n", ["2: syntax error: 'return' outside function"], id="compiler"),
        pytest.param("x = 1\0", ["1: "], id="null byte"),
        pytest.param(b"x = 1\n# \xe9", ["2: not UTF-8 (byte 0xe9)"], id="not UTF-8"),
        pytest.param("\ufeff" + check(), [], id="byte order mark"),
        pytest.param(check(body='"t\\d"'), [], id="invalid escape, of which Python warns"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, source: str | bytes, expected: list[str]) -> None:
    """Each mistake is told once, with file and line, in the order of the lines."""
    _, problems = read(tmp_path, source)
    told = [problem.removeprefix("a/checks/hidden/test_a.py:") for problem in problems]
    assert len(told) == len(expected), told
    for problem, start in zip(told, expected, strict=True):
        assert problem.startswith(start)


@pytest.mark.parametrize("file", ["checks/test_a.py", "checks/hidden/more/test_a.py", "checks/public/a_test.py"])
def test_check_file_elsewhere_is_told(tmp_path: Path, file: str) -> None:
    """A check file that would never run, or run under pytest alone, is a mistake."""
    found, problems = read(tmp_path, check(), file)
    assert found.checks == []
    assert len(problems) == 1
    assert problems[0].startswith(f"a/{file}: a check file stands in checks/public or checks/hidden")


def test_what_could_not_be_read_is_remembered(tmp_path: Path) -> None:
    """Functions without an exercise and broken files are noted, so that nothing more is told because of them."""
    found, _ = read(tmp_path, check("#"))
    assert found.unmarked == {"a"}
    assert found.complete
    found, _ = read(tmp_path, "def f(:")
    assert not found.complete
