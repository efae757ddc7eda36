"""A notebook's code cells become Python text whose lines can be traced back."""

from __future__ import annotations

import ast
import json
from typing import Any

import jupytext
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import notebook
from grader.errors import UnreadableSubmission


def _notebook(*cells: str | dict[str, Any]) -> str:
    full = [cell if isinstance(cell, dict) else {"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "cells": full})


def _refusal(text: str) -> str:
    with pytest.raises(UnreadableSubmission) as caught:
        notebook.to_source(text, "losses.ipynb")
    return str(caught.value)


def test_code_cells_are_joined() -> None:
    """Code cells stand in order below their numbers among all cells; other cells and outputs are left out."""
    text = _notebook(
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "outputs": [{"text": "3"}]},
        {"cell_type": "raw", "source": "raw"},
        "def f():\r\n    return x\r\n",
    )
    assert notebook.to_source(text, "losses.ipynb") == (
        "# cell 2\nx = 1\ny = 2\n# cell 4\ndef f():\n    return x\n",
        (),
    )
    assert notebook.to_source(_notebook(), "losses.ipynb") == ("", ())


def test_outputs_may_hold_nan() -> None:
    """Jupyter writes NaN into outputs, which JSON does not have."""
    text = '{"cells": [{"cell_type": "code", "source": "x = 1", "outputs": [{"data": {"application/json": NaN}}]}]}'
    assert notebook.to_source(text, "losses.ipynb")[0] == "# cell 1\nx = 1\n"


def test_lines_for_ipython_are_left_out() -> None:
    """Magics, shell commands and help are commented out in place, and the warning lists them."""
    text = _notebook(
        "%matplotlib inline\n!pip install \\\n  torch\nx = 1\nfiles = !ls\nt = %time f()\n?x\ntorch.exp??",
        "if x:\n    !ls 'it\nelse:\n    y = 2",
    )
    source, notes = notebook.to_source(text, "losses.ipynb")
    assert source == (
        "# cell 1\n# %matplotlib inline\n# !pip install \\\n#   torch\nx = 1\n# files = !ls\n# t = %time f()\n# ?x\n"
        "# torch.exp??\n# cell 2\nif x:\n    pass  # !ls 'it\nelse:\n    y = 2\n"
    )
    note = (
        "lines for IPython in `losses.ipynb` were left out (cell 1: `%matplotlib inline`; cell 1: `!pip install \\`;"
        " cell 1: `files = !ls`; cell 1: `t = %time f()`; cell 1: `?x` and 2 more)"
    )
    assert notes == (note,)


def test_percent_signs_of_python_stay() -> None:
    """A line that begins with a percent sign but goes on with an expression, or stands in a string, is Python."""
    code = "x = (a\n% b)\ny = '''\n%matplotlib\n!ls\n'''"
    assert notebook.to_source(_notebook(code), "losses.ipynb") == (f"# cell 1\n{code}\n", ())


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("\n%%capture out\nx = 1\n!ls", "\n# %%capture out\nx = 1\n# !ls"),
        ("%%bash\nls\npwd", "# %%bash\n# ls\n# pwd"),
        ("%%\nx", "# %%\n# x"),
    ],
)
def test_cell_magics(cell: str, source: str) -> None:
    """Below a cell magic stands Python only where the magic runs Python."""
    assert notebook.to_source(_notebook(cell), "losses.ipynb")[0] == f"# cell 1\n{source}\n"


def test_mistakes_stay_mistakes() -> None:
    """A line that is wrong Python and nothing for IPython is kept, for the student to be told."""
    for code in ("x = = 1  # really?\n%time y", "x = 1; from __future__ import annotations"):
        assert notebook.to_source(_notebook(code), "losses.ipynb") == (f"# cell 1\n{code}\n", ())


def test_future_imports_open_the_file() -> None:
    """`from __future__` may stand in any cell; it moves to the first line, and no other line changes its place."""
    text = _notebook("import torch", "from __future__ import (\n    annotations,\n)\nx = 1")
    source, notes = notebook.to_source(text, "losses.ipynb")
    assert source == (
        "from __future__ import annotations\n# cell 1\nimport torch\n"
        "# cell 2\n# from __future__ import (\n#     annotations,\n# )\nx = 1\n"
    )
    assert notes == ()
    compile(source, "losses.py", "exec")


def _marked(source: str, **marks: Any) -> dict[str, Any]:
    nbgrader = {"schema_version": 3, "grade": False, "solution": False, "locked": False, **marks}
    return {"cell_type": "code", "source": source, "metadata": {"nbgrader": nbgrader}}


CALL = 'from grader import check\n\ncheck("half")'


def test_tests_cells_are_left_out() -> None:
    """What nbgrader runs for points is not the student's; the cells after it keep their numbers."""
    text = _notebook(
        _marked("x = 1", solution=True),
        _marked(CALL, grade=True, locked=True, points=2),
        _marked("y = 2", grade=True, solution=True, points=1),
        _marked("z = 3", locked=True),
        {"cell_type": "code", "source": CALL, "metadata": {"nbgrader": {"grade": True}}},
        "a\nb",
    )
    source, notes = notebook.to_source(text, "losses.ipynb")
    assert source == "# cell 1\nx = 1\n# cell 3\ny = 2\n# cell 4\nz = 3\n# cell 6\na\nb\n"
    assert notes == ()
    assert notebook.cell_at(source, 9) == "cell 6, line 2"


def test_what_was_written_into_a_tests_cell_is_told() -> None:
    """It does not count, as it does not for nbgrader, which puts the original back; the student hears of it."""
    text = _notebook(_marked(f"{CALL}\ndef half(x): return x", grade=True), _marked("# mine\n%time", grade=True))
    assert notebook.to_source(text, "losses.ipynb") == (
        "",
        ("tests cells, though something was written there, in `losses.ipynb` were left out (cell 1; cell 2)",),
    )


def test_calls_of_check_are_commented_out() -> None:
    """Where the marks were lost, or in a cell of the student's own: the call is for a kernel, and its line stays."""
    text = _notebook(
        CALL,
        "def half(x):\n    return x\n\ncheck('half')\ncheck(\n    'half'\n)",
        "from grader import check; check('half')",
        "check('half'); y = 1",
        "check(half)\nx = check('half')\nif x:\n    check('half')\nfrom grader import check as c\n'check('",
    )
    source, notes = notebook.to_source(text, "losses.ipynb")
    assert source == (
        '# cell 1\n# from grader import check\n\n# check("half")\n'
        "# cell 2\ndef half(x):\n    return x\n\n# check('half')\n# check(\n#     'half'\n# )\n"
        "# cell 3\n# from grader import check; check('half')\n"
        "# cell 4\ncheck('half'); y = 1\n"
        "# cell 5\ncheck(half)\nx = check('half')\nif x:\n    check('half')\nfrom grader import check as c\n'check('\n"
    )
    assert notes == ()


def test_a_future_import_stays_one_beside_a_check() -> None:
    """The two reasons to comment a line out do not get in each other's way."""
    text = _notebook("from __future__ import annotations\nfrom grader import check\nx = 1")
    assert notebook.to_source(text, "losses.ipynb")[0] == (
        "from __future__ import annotations\n"
        "# cell 1\n# from __future__ import annotations\n# from grader import check\nx = 1\n"
    )


def test_lines_can_be_traced() -> None:
    """A line of the source is told as cell and line, as Jupyter shows them."""
    source = notebook.to_source(_notebook("a\nb", {"cell_type": "markdown"}, "c"), "losses.ipynb")[0]
    assert [notebook.cell_at(source, line) for line in range(1, 6)] == [
        "cell 1, line 0", "cell 1, line 1", "cell 1, line 2", "cell 3, line 0", "cell 3, line 1",
    ]  # fmt: skip
    assert notebook.cell_at("from __future__ import annotations\n", 1) == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "`losses.ipynb` is not a notebook: it does not hold JSON"),
        ("x = 1", "`losses.ipynb` is not a notebook: it does not hold JSON"),
        ("[" * 100_000, "`losses.ipynb` is not a notebook: it does not hold JSON"),
        ("1" * 5000, "`losses.ipynb` is not a notebook: it does not hold JSON"),
        ("[]", "`losses.ipynb` is not a notebook: it holds no list of cells"),
        ('{"cells": {}}', "`losses.ipynb` is not a notebook: it holds no list of cells"),
        ('{"worksheets": []}', "`losses.ipynb` has the notebook format 3; open it in Jupyter and save it again"),
        ('{"cells": [1]}', "`losses.ipynb`: cell 1 is damaged; open the notebook in Jupyter and save it"),
        (
            '{"cells": [{"cell_type": []}]}',
            "`losses.ipynb`: cell 1 is damaged; open the notebook in Jupyter and save it",
        ),
        (
            _notebook("x = 1", {"cell_type": "code", "source": ["x", 1]}),
            "`losses.ipynb`: cell 2 holds no text; open the notebook in Jupyter and save it",
        ),
        (_notebook("x = '\0'"), "`losses.ipynb`: cell 1 holds a character that Python text cannot hold"),
        (_notebook("x = '\ud800'"), "`losses.ipynb`: cell 1 holds a character that Python text cannot hold"),
        (_notebook(*["x"] * 2001), "`losses.ipynb` holds more than 2000 cells"),
        (_notebook("x" * (1 << 17), "x" * ((1 << 17) + 1)), "`losses.ipynb` holds more than 256 KiB of code"),
    ],
)
def test_what_is_no_notebook(text: str, sentence: str) -> None:
    """Whatever is wrong with the notebook is told with the cell."""
    assert _refusal(text) == sentence


def test_hostile_magics_cost_little() -> None:
    """Thousands of magics below pages of code are not worth a parse each; what is left over stays as it is."""
    source, notes = notebook.to_source(_notebook("x = 1\n" * 35_000 + "!ls\n" * 5000), "losses.ipynb")
    assert 0 < source.count("\n# !ls") < 50
    assert len(notes) == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
_CODE = st.text(st.sampled_from("%!?x=(\n\\' #1")) | st.sampled_from([CALL, "check('"]) | st.text(st.characters())
_MARKS = st.dictionaries(st.sampled_from(["grade", "solution"]), st.booleans() | _JSON)
_CELL = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown"]) | _JSON, "source": _CODE | st.lists(_CODE, max_size=3) | _JSON},
    optional={"metadata": _MARKS.map(lambda marks: {"nbgrader": marks}) | _JSON},
)


@given(st.text() | _JSON.map(json.dumps) | st.lists(_CELL, max_size=4).map(lambda cells: json.dumps({"cells": cells})))
def test_any_json(text: str) -> None:
    """Whatever the JSON, there is text that UTF-8 can hold, or a refusal; and every line of code can be traced."""
    try:
        source, notes = notebook.to_source(text, "losses.ipynb")
    except UnreadableSubmission as refusal:
        assert str(refusal).isprintable()
    else:
        lines = source.encode().decode().split("\n")[:-1]
        assert all(notebook.cell_at(source, number) for number in range(1, len(lines) + 1))
        assert all(note.isprintable() for note in notes)


_PYTHON = st.sampled_from(
    [
        "x = 1",
        "def f(a):\n    return a % 2\n\nf(1)",
        "# a comment",
        "",
        "if x:\n    y = [1,\n  2]",
        "%matplotlib inline\nz = 3",
        "!ls",
    ]
)


@given(st.lists(_PYTHON, max_size=6))
def test_the_same_program_as_jupytext(cells: list[str]) -> None:
    """The statements are those that jupytext finds in the same notebook."""
    full = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    ours, _ = notebook.to_source(nbformat.writes(full), "losses.ipynb")
    assert ast.dump(ast.parse(ours)) == ast.dump(ast.parse(jupytext.writes(full, "py:percent")))
