"""A file becomes a notebook that Jupyter and nbgrader take, and that is read back as the same program."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import notebook, spec
from grader.cells import to_notebook
from grader.model import Assignment, Exercise
from grader.stubs import make_stub
from tests import assignment_builder

ROOT = Path(__file__).parents[1]
HANDOUT = "# Halves\n\nWrite it — all of it.\n"
SOLVED = '''\
# the licence
"""Halves and more.

Nothing is rounded.
"""

from __future__ import annotations

import functools

# The half.
HALF = 0.5


def helper(x):
    return x * HALF


@functools.cache
# cached, for it is called often
def half(x):
    """x / 2."""
    ### BEGIN SOLUTION
    return helper(x)
    ### END SOLUTION


# What follows is longer.
class Quarter:
    ### BEGIN SOLUTION
    def __call__(self, x):
        return half(half(x))
    ### END SOLUTION

    name = "quarter"


LAST = 1  # of the constants
# The end.
'''

CODE = '''\
---
# the licence

from __future__ import annotations

import functools

# The half.
HALF = 0.5
---
def helper(x):
    return x * HALF
--- half
@functools.cache
# cached, for it is called often
def half(x):
    """x / 2."""
    ### BEGIN SOLUTION
    return helper(x)
    ### END SOLUTION
--- half-tests
from grader import check

check("half")
--- Quarter
# What follows is longer.
class Quarter:
    ### BEGIN SOLUTION
    def __call__(self, x):
        return half(half(x))
    ### END SOLUTION

    name = "quarter"
--- Quarter-tests
from grader import check

check("Quarter")
---
LAST = 1  # of the constants
# The end.
'''


def _assignment(*exercises: str, points: float = 2.0) -> Assignment:
    made = tuple(Exercise(name, name, points) for name in exercises)
    return Assignment(id="halves", title="Halves", file="halves.py", folder="", solution="", exercises=made, checks=())


def _cells(text: str, *exercises: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(to_notebook(text, _assignment(*exercises), HANDOUT))["cells"]
    return found


def _code(text: str, *exercises: str) -> list[tuple[str, str]]:
    """The code cells: nbgrader's id, or "" without one, and the source."""
    return [
        (cell["metadata"].get("nbgrader", {}).get("grade_id", ""), "".join(cell["source"]))
        for cell in _cells(text, *exercises)
        if cell["cell_type"] == "code"
    ]


def _drawn(cells: list[tuple[str, str]]) -> str:
    return "".join(f"{f'--- {name}'.rstrip()}\n{source}\n" for name, source in cells)


def _stub(text: str) -> str:
    return make_stub(text.encode(), "halves.py").decode()


def _calls(exercise: str) -> tuple[str, str]:
    return f"{exercise}-tests", f'from grader import check\n\ncheck("{exercise}")'


def test_the_cells_of_a_solved_file() -> None:
    """Handout, docstring, then the code in its order: comments stay with what they precede, markers in their cell."""
    cells = _cells(SOLVED, "half", "Quarter")
    assert [cell["cell_type"] for cell in cells] == ["markdown"] * 2 + ["code"] * 7
    assert ["".join(cell["source"]) for cell in cells[:2]] == [HANDOUT, "Halves and more.\n\nNothing is rounded."]
    assert _drawn(_code(SOLVED, "half", "Quarter")) == CODE


def test_the_stub_has_the_same_cells() -> None:
    """Ids and marks are those of the solved file, so a student's notebook fits the course's; no solution is left."""
    solved, stub = _cells(SOLVED, "half", "Quarter"), _cells(_stub(SOLVED), "half", "Quarter")
    assert [(cell["id"], cell["metadata"]) for cell in solved] == [(cell["id"], cell["metadata"]) for cell in stub]
    assert _drawn(_code(_stub(SOLVED), "half", "Quarter")) == _stub(CODE.replace("---", "#---")).replace("#---", "---")


def test_the_marks_are_nbgraders() -> None:
    """A solution cell, a locked tests cell with the points, and nothing anywhere else; no outputs."""
    marked = [cell for cell in _cells(SOLVED, "half") if cell["metadata"]]
    assert [cell["metadata"]["nbgrader"] for cell in marked[:2]] == [
        {
            "schema_version": 3,
            "grade_id": "half",
            "grade": False,
            "solution": True,
            "locked": False,
            "task": False,
        },
        {
            "schema_version": 3,
            "grade_id": "half-tests",
            "grade": True,
            "solution": False,
            "locked": True,
            "task": False,
            "points": 2,
        },
    ]
    assert [cell["metadata"].get("editable", True) for cell in marked] == [True, False, True]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in marked)


@pytest.mark.parametrize(("points", "written"), [(10.0, "10"), (0.3, "0.3")])
def test_points_are_written_as_people_do(points: float, written: str) -> None:
    """Ten points are 10, and a fraction stays one."""
    text = to_notebook("def half(x): return x", _assignment("half", points=points), "").decode()
    assert f'"points": {written},' in text


@pytest.mark.parametrize("text", [SOLVED, _stub(SOLVED), "", "# nothing\n", '"""Only words."""\n'])
def test_it_is_what_jupyter_would_write(text: str) -> None:
    """The notebook is valid, its ids differ, and opening and saving it changes no byte."""
    data = to_notebook(text, _assignment("half", "Quarter"), HANDOUT)
    found = nbformat.reads(data.decode(), as_version=4)
    nbformat.validate(found)
    assert nbformat.writes(found).encode() + b"\n" == data
    assert found.metadata.kernelspec.name == "python3"
    assert len({cell.id for cell in found.cells}) == len(found.cells)
    assert to_notebook(text, _assignment("half", "Quarter"), HANDOUT) == data


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    """The same notebook comes of a file that was saved on Windows."""
    windows = "\ufeff" + SOLVED.replace("\n", "\r\n")
    assert _cells(windows, "half") == _cells(SOLVED, "half")


@pytest.mark.parametrize(
    "code",
    [
        "@staticmethod\ndef half(x): return x",
        "class half:\n    pass",
        "async def half(x):\n    pass",
        "half = 0.5",
        "half: float = 0.5; third = 1 / 3",
        "if True:\n    def half(x):\n        return x\nelse:\n    half = None",
    ],
)
def test_whatever_defines_an_exercise(code: str) -> None:
    """A function, a class, a constant, a branch: its cell is the solution cell, apart from its neighbours."""
    assert _code(f"import a\n{code}\nimport b\n", "half") == [
        ("", "import a"),
        ("half", code),
        _calls("half"),
        ("", "import b"),
    ]


def test_the_last_definition_counts() -> None:
    """As in Python; and an id is there once."""
    text = "half = None\n\n\ndef half(x):\n    return x\n"
    assert _code(text, "half") == [("", "half = None"), ("half", "def half(x):\n    return x"), _calls("half")]


def test_two_exercises_in_one_statement() -> None:
    """They share the cell, which has the first one's id, and each has its tests."""
    assert _code("half, quarter = 2, 4\n", "half", "quarter") == [
        ("half", "half, quarter = 2, 4"),
        _calls("half"),
        _calls("quarter"),
    ]


def test_a_region_of_the_top_level() -> None:
    """It is a cell of its own. In the stub nothing says which exercise it was to define: the tests come last."""
    text = "import a\n# The half.\n### BEGIN SOLUTION\nhalf = 0.5\n\n\ndef more(): pass\n### END SOLUTION\nimport b\n"
    region = "# The half.\n### BEGIN SOLUTION\nhalf = 0.5\n\n\ndef more(): pass\n### END SOLUTION"
    assert _code(text, "half") == [("", "import a"), ("half", region), _calls("half"), ("", "import b")]
    assert _code(_stub(text), "half") == [
        ("", "import a"),
        ("solution-1", "# The half.\n# YOUR CODE HERE"),
        ("", "import b"),
        _calls("half"),
    ]


def test_a_helper_that_the_student_writes() -> None:
    """nbgrader clears regions in solution cells only, so each region stands in one; neighbours have two ids."""
    region = "    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"
    text = f"def one(x):\n{region}\ndef two(x):\n{region}\ndef half(x):\n{region}\n"
    assert [name for name, _ in _code(text, "half")] == ["solution-1", "solution-2", "half", "half-tests"]
    assert [name for name, _ in _code(_stub(text), "half")] == ["solution-1", "solution-2", "half", "half-tests"]


def test_markers_in_strings_are_no_markers() -> None:
    """Only a comment alone on its line is one."""
    text = 'text = """\n### BEGIN SOLUTION\n"""\nmore = 1  # YOUR CODE HERE\n'
    assert _code(text) == [("", text.rstrip())]


def test_code_on_the_docstrings_line_stays() -> None:
    """The docstring then stays code too."""
    assert _code('"""Words."""; x = 1\n') == [("", '"""Words."""; x = 1')]


def test_a_file_that_is_no_python_is_refused() -> None:
    """The author is told by Python."""
    with pytest.raises(SyntaxError):
        to_notebook("def half(:", _assignment("half"), "")


def _program(text: str) -> list[str]:
    """The statements; a docstring is none, and `from __future__` imports are one, in whatever order."""
    body = ast.parse(text).body
    futures = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rest = [node for node in body if node not in futures]
    if rest and isinstance(rest[0], ast.Expr) and isinstance(rest[0].value, ast.Constant):
        rest = rest[1:]
    names = sorted(alias.name for node in futures for alias in node.names)
    return [*names, *map(ast.dump, rest)]


def _read_back(text: str, assignment: Assignment) -> str:
    source, notes = notebook.to_source(to_notebook(text, assignment, HANDOUT).decode(), "halves.ipynb")
    assert notes == ()
    return source


_STATEMENT = st.sampled_from(
    [
        "import a\nimport b\n",
        "# a comment\n",
        "\n\n",
        "X = [\n    1,\n    # one\n]\n",
        'Y = """\n# in a string\n\n### END SOLUTION\n"""\n',
        "if X:\n    Y = 1\n    # indented\n\nelse:\n    Y = 2\n",
        "one = 1; two = 2\n",
        "def half(x):\n    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION\n",
        "@a(\n    # inside\n    1\n)\nclass B:\n    # nothing\n    pass\n\n    # more\n",
        "### BEGIN SOLUTION\nthird = 3\n\n\ndef fourth(): pass\n### END SOLUTION\n",
        "\f\ndef after_a_form_feed(): pass\n",
    ]
)
_FILE = st.tuples(
    st.sampled_from(["", "# first\n", '"""Words."""\n', '# first\n\n"""More\nwords."""\n\n']),
    st.sampled_from(["", "from __future__ import annotations\n", "from __future__ import (\n    division,\n)\n"]),
    st.lists(_STATEMENT, max_size=8).map("".join),
).map("".join)


@given(_FILE)
def test_a_notebook_is_read_back_as_the_same_program(text: str) -> None:
    """No statement is lost, added, moved or torn between two cells, and no comment is lost."""
    assignment = _assignment("half", "third", "B")
    assert _program(_read_back(text, assignment)) == _program(text)
    sources = [source for _, source in _code(text, "half", "third", "B")]
    assert all(ast.parse(source) for source in sources)
    lines = [line for source in sources for line in source.split("\n")]
    assert not {line for line in text.split("\n") if line.lstrip().startswith("#")} - set(lines)


@pytest.mark.parametrize("folder", spec.discover(ROOT), ids=lambda folder: folder.name)
def test_the_assignments_themselves(folder: Path) -> None:
    """Stub and solution of each assignment survive the way into a notebook and back."""
    assignment = spec.load(folder)
    solved = Path(assignment.solution).read_bytes()
    for text in (solved.decode(), make_stub(solved, assignment.file).decode()):
        assert _program(_read_back(text, assignment)) == _program(text)


def test_nothing_heavy_is_imported() -> None:
    """Making a notebook needs neither torch nor pytest, nor does `import grader`."""
    code = "import sys, grader, grader.cells; sys.exit(bool({'torch', 'pytest', 'nbformat'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_builders_assignment() -> None:
    """Two exercises in a row: cell and tests, cell and tests."""
    text = assignment_builder.FILES["solutions/halves/halves.py"]
    assert [name for name, _ in _code(text, "half", "quarter")] == [
        "",
        "half",
        "half-tests",
        "quarter",
        "quarter-tests",
    ]
