"""Bytes become text in the encoding they were written in, and text is read without being run."""

from __future__ import annotations

import ast
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import source
from grader.errors import UnreadableSubmission


def _problem(text: str) -> str:
    try:
        source.checked(text, "losses.py")
    except UnreadableSubmission as refusal:
        return str(refusal)
    return ""


PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    "data",
    [
        "ä = 'é'\n".encode(),
        b"\xef\xbb\xbf" + "ä = 'é'\n".encode(),
        "ä = 'é'\n".encode("utf-16"),
        b"\xfe\xff" + "ä = 'é'\n".encode("utf-16-be"),
        "ä = 'é'\r\n".encode(),
        "ä = 'é'\r".encode(),
    ],
)
def test_unicode(data: bytes) -> None:
    """UTF-8 with and without a mark, UTF-16 with one, and every kind of line end give the same text."""
    assert source.decode(data, "losses.py") == ("ä = 'é'\n", ())


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "koi8-r", "euc-jp", "gbk", "shift_jis", "mac-roman", "utf-8-sig"]
)
@pytest.mark.parametrize("first", ["", "#!/usr/bin/env python\n", "\n"])
def test_declared_encodings(encoding: str, first: str) -> None:
    """A declaration in the first two lines is honoured."""
    text = (
        f"{first}# -*- coding: {encoding} -*-\nx = '{'é' if encoding in ('latin-1', 'cp1252', 'mac-roman') else 'x'}'\n"
    )
    assert source.decode(text.encode(encoding), "losses.py") == (text, ())


def test_declaration_comes_first() -> None:
    """After a line of code, or in the third line, a declaration is an ordinary comment."""
    for text in ("x = 1\n# coding: koi8-r\ny = 'é'\n", "#\n#\n# coding: koi8-r\ny = 'é'\n"):
        assert source.decode(text.encode(), "losses.py") == (text, ())


@pytest.mark.parametrize(
    "encoding", ["nonsense", "rot13", "zlib", "punycode", "unicode_escape", "utf-7", "idna", "hex"]
)
def test_encodings_that_are_not_honoured(encoding: str) -> None:
    """Unknown encodings, and those that transform instead of encoding, are named."""
    with pytest.raises(UnreadableSubmission) as caught:
        source.decode(f"# coding: {encoding}\n".encode(), "losses.py")
    expected = f"`losses.py` declares the encoding `{encoding}`, which is not supported; save it as UTF-8"
    assert str(caught.value) == expected


def test_latin_1_is_the_last_resort() -> None:
    """What is not UTF-8 is read as Latin-1, and the warning names the first bad byte and its line."""
    assert source.decode(b"x = 1\r\n# caf\xe9 \xff\r\n", "losses.py") == (
        "x = 1\n# café ÿ\n",
        ("`losses.py` is not UTF-8: line 2 holds the byte 0xe9; it was read as Latin-1; save it as UTF-8",),
    )
    assert source.decode(b"# coding: ascii\nx = '\xe9'\n", "a.py")[1] == (
        "`a.py` is not ASCII: line 2 holds the byte 0xe9; it was read as Latin-1; save it as UTF-8",
    )


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"x = 1\ny = '\0'\n", "`losses.py` holds a NUL character in line 2; save it as UTF-8 text"),
        ("x = 1\n".encode("utf-16-le"), "`losses.py` holds a NUL character in line 1; save it as UTF-8 text"),
        (b"\xff\xfex", "`losses.py` is broken UTF-16; save it as UTF-8"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, sentence: str) -> None:
    """NUL bytes and broken UTF-16 are refused."""
    with pytest.raises(UnreadableSubmission) as caught:
        source.decode(data, "losses.py")
    assert str(caught.value) == sentence


@given(st.binary(max_size=200) | st.from_regex(rb"# coding[:=] ?[-\w.]{1,12}\n[\x00-\xff]{0,20}", fullmatch=True))
def test_any_bytes(data: bytes) -> None:
    """Whatever the bytes, there is text that UTF-8 can hold, or a refusal."""
    try:
        text, notes = source.decode(data, "losses.py")
    except UnreadableSubmission as refusal:
        assert str(refusal).isprintable()
    else:
        assert "\r" not in text
        assert "\0" not in text
        assert text.encode() or not data.strip(b"\xef\xbb\xbf\xff\xfe")
        assert _problem(text).isprintable()
        assert all(note.isprintable() for note in notes)


@pytest.mark.parametrize(
    ("text", "place", "reason", "code"),
    [
        ("x = 1\ny = = 2\n", "line 2, column 5", "invalid syntax", "y = = 2"),
        (
            "def f(x):\nreturn x\n",
            "line 2, column 1",
            "expected an indented block after function definition on line 1",
            "return x",
        ),
        ("x = [1,\n", "line 1, column 5", "'[' was never closed", "x = [1,"),
    ],
)
def test_syntax_problems(text: str, place: str, reason: str, code: str) -> None:
    """A mistake in the syntax is told with file, line, column, reason and the line itself."""
    assert _problem(text) == f"`losses.py`, {place} is not {PYTHON}: {reason}: `{code}`"


def test_no_syntax_problem() -> None:
    """What is Python gives its tree."""
    assert ast.dump(source.checked("x = 1\n", "losses.py")) == ast.dump(ast.parse("x = 1"))


@pytest.mark.parametrize("text", ["", "\n \n", "# only\n  # comments\n"])
def test_no_code(text: str) -> None:
    """A file without any code is told as such, and not as missing functions."""
    assert _problem(text) == "`losses.py` holds no code"


@pytest.mark.parametrize("text", ["-" * 50_000 + "1", "1" + "+1" * 50_000, "lambda: " * 50_000 + "1"])
def test_nesting(text: str) -> None:
    """What the parser itself gives up on is told as such."""
    expected = "`losses.py` is nested too deeply for Python to read; write it in smaller steps"
    assert _problem(text) == expected


def test_syntax_problem_in_a_long_line() -> None:
    """The quoted line is cut to 80 characters."""
    problem = _problem(f"x = = {'1' * 200}")
    assert problem.endswith(f": `x = = {'1' * 74}`")


def test_what_parses_and_crashes_the_compiler() -> None:
    """Text that would end this process if it were compiled is only parsed: its worker may die of it, not the grader."""
    assert _problem(f"[x {'for x in y ' * 20_000}]") == ""


def test_invalid_escapes_are_no_warnings_here() -> None:
    """What Python warns about while parsing is the student's affair."""
    assert _problem("x = '\\d'\n") == ""


def test_definitions() -> None:
    """All ways to bind a name at the top level count, and none inside functions and classes."""
    text = """
import a, b.c, d as e
from f import g as h
if x:
    def i(): j = 1
elif y:
    k = l = 1
else:
    m, (n, *o) = z
try:
    class p:
        q = 1
except E:
    r: int = 1
    s: int
finally:
    async def t(): ...
for _ in z:
    u = 1
with z:
    v = 1
match z:
    case 1:
        w = 1
"""
    assert set(source.definitions(text)) == set("abehiklmnoprtuvw")
    last = source.definitions("def f(): pass\nf = 1\n")["f"]
    assert isinstance(last, ast.Assign)
    assert source.definitions("def f(:") == {}


def test_definitions_behind_a_long_chain() -> None:
    """Deep nesting, which a chain of `elif` is, does not exhaust the stack."""
    assert set(source.definitions("if 1: a = 1\n" + "elif 1: b = 1\n" * 900)) == {"a", "b"}


def test_unfinished() -> None:
    """A function or class that raises NotImplementedError is a stub; another error is not."""
    text = """
def a(): raise NotImplementedError
def b(): raise NotImplementedError("later")
class c:
    def f(self): raise NotImplementedError
def d(): raise ValueError
def e(): raise
"""
    assert {name: source.unfinished(node) for name, node in source.definitions(text).items()} == {
        "a": True, "b": True, "c": True, "d": False, "e": False,
    }  # fmt: skip


def test_repeated() -> None:
    """Functions and classes defined twice at the top level are named once; alternatives in branches are not."""
    branches = "if x:\n  def g(): ...\nelse:\n  def g(): ...\n"
    assert source.repeated(ast.parse("def f(): ...\n" * 3 + "class C: ...\ndef C(): ...\n" + branches)) == ["f", "C"]
