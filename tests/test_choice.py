"""One file of each entry is graded, and the student learns which, and why."""

from __future__ import annotations

import json

import pytest

from grader.choice import choose, notebook_name, text_of
from grader.errors import UnreadableSubmission
from grader.members import Member
from grader.model import Assignment, Exercise

ASSIGNMENT = Assignment(
    id="losses",
    title="Losses",
    file="losses.py",
    folder="/nowhere",
    solution="/nowhere/losses.py",
    exercises=(Exercise("lse", "Log-sum-exp", 2), Exercise("bce", "Cross entropy", 3)),
    checks=(),
)
WHOLE = "def lse(x): return x\ndef bce(x): return x\n"
STUB = "def lse(x): raise NotImplementedError\ndef bce(x): raise NotImplementedError\n"
HALF = STUB.replace("raise NotImplementedError", "return x", 1)


def _members(files: dict[str, str]) -> list[Member]:
    found = [Member(path, text.encode) for path, text in files.items()]
    return sorted(found, key=lambda member: (member.depth, member.path))


def _chosen(files: dict[str, str]) -> tuple[str, tuple[str, ...]]:
    member, notes = choose(_members(files), ASSIGNMENT)
    return member.path, notes


def _notebook(code: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": code}]})


@pytest.mark.parametrize(
    "files",
    [
        {"losses.py": "", "b.py": WHOLE, "old/losses.py": WHOLE, "a/losses.ipynb": WHOLE},
        {"a/losses.py": "", "b/c/losses.py": WHOLE, "losses.ipynb": WHOLE, "x.py": WHOLE},
        {"week 1/hw/losses.ipynb": "{}", "week 1/hw/Losses.py": WHOLE},
    ],
)
def test_the_right_name(files: dict[str, str]) -> None:
    """The file of the right name at the shallowest place is used, else the notebook, whatever they hold."""
    assert _chosen(files) == (next(iter(files)), ())


def test_several_of_the_right_name() -> None:
    """Two files of the right name at the same depth are not chosen between."""
    with pytest.raises(UnreadableSubmission) as caught:
        _chosen({"a/losses.py": WHOLE, "b/losses.py": ""})
    assert str(caught.value) == "there are several: `a/losses.py`, `b/losses.py`; keep one `losses.py`"


@pytest.mark.parametrize(
    "files",
    [
        {"my losses.py": "x = ("},
        {"my losses.py": "x = (", "report.pdf": "", "old.zip": ""},
        {"my losses.py": WHOLE, "test_it.py": "def lse(): ...", "plot.py": "", "bad.py": "("},
        {"my losses.py": "def lse(): ...", "plot.py": "import torch", "a.txt": WHOLE},
        {"my losses.py": "lse = bce = 1", "plot.ipynb": "damaged"},
        {"my losses.py": "from old import lse, bce", "old.py": "def bce(): ..."},
    ],
)
def test_another_name(files: dict[str, str]) -> None:
    """An only file is used, and so is the only one that defines all exercises, or some; the student is told."""
    assert _chosen(files) == ("my losses.py", ("found `my losses.py` instead of `losses.py`; it was graded",))


def test_a_notebook_of_another_name() -> None:
    """Notebooks are looked into as files are."""
    note = "found `hw.ipynb` instead of `losses.py`; it was graded"
    assert _chosen({"hw.ipynb": _notebook("lse = 1"), "x.py": ""}) == ("hw.ipynb", (note,))


TO_17 = "".join(f", `1{i}.py`" for i in range(1, 8))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "found no files"),
        ({"report.pdf": "", "sub/data.csv": ""}, "found `report.pdf`, `sub/data.csv`"),
        (
            dict.fromkeys([f"1{i}.py.txt" for i in range(9)], ""),
            f"found `10.py.txt`{TO_17.replace('py', 'py.txt')} and 1 more",
        ),
    ],
)
def test_no_candidates(files: dict[str, str], problem: str) -> None:
    """Where nothing can be meant, what was found is listed, up to a point."""
    with pytest.raises(UnreadableSubmission) as caught:
        _chosen(files)
    assert str(caught.value) == f"there is no `losses.py`: {problem}"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a.py": WHOLE, "b.py": WHOLE, "c.py": ""}, "several could be it: `a.py`, `b.py`"),
        ({"a.py": "x = 1", "b.py": "def f(): lse = 1"}, "none of `a.py`, `b.py` defines `lse`, `bce`"),
        (
            {"a.py": "#" * (1 << 18), "b.ipynb": _notebook("#" * (1 << 18)), "c.py": WHOLE},
            "the files hold too much text to try: `a.py`, `b.ipynb`, `c.py`",
        ),
        ({f"{i}.py": WHOLE for i in range(10, 31)}, f"too many files to try: `10.py`{TO_17} and 13 more"),
    ],
)
def test_no_clear_candidate(files: dict[str, str], problem: str) -> None:
    """Where several could be meant, or none, the candidates are named."""
    with pytest.raises(UnreadableSubmission) as caught:
        _chosen(files)
    assert str(caught.value) == f"there is no `losses.py`, and {problem}"


@pytest.mark.parametrize(
    ("file", "book", "used", "counts"),
    [
        (STUB, _notebook(HALF), "losses.ipynb", (1, 0)),
        (HALF, _notebook(WHOLE), "losses.ipynb", (2, 1)),
        (HALF, _notebook(HALF), "losses.py", (1, 1)),
        (STUB, _notebook(STUB), "losses.py", (0, 0)),
        ("x = (", _notebook(STUB), "losses.py", (0, 0)),
        (HALF, "damaged", "losses.py", (1, 0)),
    ],
)
def test_file_and_notebook_side_by_side(file: str, book: str, used: str, counts: tuple[int, int]) -> None:
    """A release holds both; the one in which more was written is graded, the file where they are even."""
    other = "losses.py" if used == "losses.ipynb" else "losses.ipynb"
    note = (
        f"found `losses.py` and `losses.ipynb`; `{used}` was graded, with {counts[0]} of 2 exercises written, and not"
        f" `{other}`, with {counts[1]}"
    )
    assert _chosen({"losses.py": file, "losses.ipynb": book}) == (used, (note,))


def test_text() -> None:
    """A notebook's text is its code, with the warnings of both steps; any other file's text is itself."""
    data = _notebook("%time x").encode("utf-16")
    note = "lines for IPython in `a.ipynb` were left out (cell 1: `%time x`)"
    assert text_of(data, Member("a.ipynb", bytes)) == ("# cell 1\n# %time x\n", (note,))
    assert text_of(b"%time x", Member("a.py", bytes)) == ("%time x", ())
    assert notebook_name(ASSIGNMENT) == "losses.ipynb"
