"""What people write by hand is read strictly, and every mistake becomes a sentence."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from grader.reading import Table, did_you_mean, read_text, read_toml, toml_key

if TYPE_CHECKING:
    from pathlib import Path


def table(**values: object) -> Table:
    """A table at the top of a file `f`."""
    return Table(values, "f", "a.", [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("refrence", "; did you mean 'reference'?"), ("zebra", ""), ("", "")],
)
def test_did_you_mean(name: str, expected: str) -> None:
    """A near name is offered, a far one is not."""
    assert did_you_mean(name, ("student", "reference")) == expected


@pytest.mark.parametrize(("key", "expected"), [("call_s", "call_s"), ("a/b", '"a/b"'), ("", '""'), ('"', '"\\""')])
def test_toml_key(key: str, expected: str) -> None:
    """Keys are shown as one would write them in the file."""
    assert toml_key(key) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"a = 1\nb = \xff", "f:2: not UTF-8 (byte 0xff)", id="not UTF-8"),
        pytest.param(b"a = ", "f: not valid TOML: Invalid value", id="no value"),
        pytest.param(b"a = 1\na = 2\n", "f: not valid TOML: Cannot overwrite a value (at line 2", id="key twice"),
        pytest.param(b"a = " + b"1" * 5000, "f: not valid TOML: ", id="endless integer"),
        pytest.param(b"a = " + b"[" * 100_000, "f: not valid TOML: ", id="endless nesting"),
    ],
)
def test_read_toml_tells_what_is_wrong(tmp_path: Path, content: bytes, problem: str) -> None:
    """A file that is no TOML is one problem, never an exception."""
    problems: list[str] = []
    path = tmp_path / "f"
    path.write_bytes(content)
    assert read_toml(path, "f", problems) is None
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_read_text_without_a_file(tmp_path: Path) -> None:
    """A missing file and a folder in its place are problems; a byte order mark is none."""
    problems: list[str] = []
    assert read_text(tmp_path / "none", "none", problems) is None
    assert read_text(tmp_path, "folder", problems) is None
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfx")
    assert read_text(tmp_path / "bom", "bom", problems) == "x"
    assert [problem.split(":")[0] for problem in problems] == ["none", "folder"]


@pytest.mark.parametrize(
    ("value", "points", "told"),
    [
        (3, Fraction(3), ""),
        (0.1, Fraction(1, 10), ""),
        (0.07, Fraction(7, 100), ""),
        (0, Fraction(0), ""),
        (True, None, "is true or false, but must be a number"),
        ("3", None, "is a string, but must be a number"),
        (-1, None, "is negative"),
        (0.005, None, "is 0.005, but points are multiples of 0.01"),
        (float("nan"), None, "is nan, but must be finite"),
        (float("inf"), None, "is inf, but must be finite"),
        (10**400, None, "is more than 1_000_000"),
    ],
)
def test_points(value: object, points: Fraction | None, told: str) -> None:
    """Points are exact decimals; what is no usable number is told."""
    given = table(x=value)
    assert given.points("x") == points
    assert [problem.startswith(f"f: a.x: {told}") for problem in given.problems] == [True] * bool(told)


def test_wrong_types_are_told() -> None:
    """Every reader checks the exact type, and gives something harmless instead."""
    given = table(text=1, empty=" ", flag=1, whole=1.0, texts=["a", "", 2], no_texts="a", sub=[], unkown=1)
    assert given.text("text") == given.text("empty") == given.text("missing") == ""
    assert given.flag("flag") is False
    assert given.number("whole", whole=True) is None
    assert given.texts("texts") == ("a",)
    assert given.texts("no_texts") == ()
    assert given.table("sub").values == {}
    given.only("text", "empty", "flag", "whole", "texts", "no_texts", "sub", "unknown")
    assert given.problems == [
        "f: a.text: is a number, but must be a string",
        "f: a.empty: is empty — write something",
        "f: a.missing: is missing — add it; it is a string",
        "f: a.flag: is a number, but must be true or false",
        "f: a.whole: is a number, but must be a whole number",
        "f: a.texts: holds something else than non-empty strings — write sentences, or leave it out",
        "f: a.no_texts: is a string, but must be a list of strings",
        "f: a.sub: is a list, but must be a table",
        "f: a.unkown: unknown key; did you mean 'unknown'?",
    ]
