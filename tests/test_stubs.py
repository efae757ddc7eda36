"""The student's stub is the solved file without its solutions, and nothing else is touched."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import stubs
from grader.errors import SpecError
from grader.stubs import make_stub, solution_lines

SOLVED = b'''\
"""Losses."""

import torch


@torch.no_grad()
def half(x, *, out=None):
    """x / 2

    The lines
    ### BEGIN SOLUTION
    and
    ### END SOLUTION
    in a docstring change nothing.
    """
    ### BEGIN SOLUTION
    secret = x * 0.5
    return secret
    ### END SOLUTION


def twice(x):
    return x * 2
'''

STUB = b'''\
"""Losses."""

import torch


@torch.no_grad()
def half(x, *, out=None):
    """x / 2

    The lines
    ### BEGIN SOLUTION
    and
    ### END SOLUTION
    in a docstring change nothing.
    """
    # YOUR CODE HERE
    raise NotImplementedError("half")


def twice(x):
    return x * 2
'''


def problems(source: bytes) -> tuple[str, ...]:
    """What make_stub says about a source that it refuses."""
    with pytest.raises(SpecError) as caught:
        make_stub(source, "losses.py")
    return caught.value.problems


def in_function(*lines: str) -> bytes:
    """A function `f` with these lines as its body."""
    return "".join(["def f(x):\n", *(f"    {line}\n" for line in lines)]).encode()


def test_region_in_a_function_raises() -> None:
    """A region becomes a placeholder and a raise; docstrings that mention the markers stay."""
    assert make_stub(SOLVED, "losses.py") == STUB


@pytest.mark.parametrize(
    ("source", "stub"),
    [
        pytest.param(
            b"### BEGIN SOLUTION\nimport math\n### END SOLUTION\nx = 1\n", b"# YOUR CODE HERE\nx = 1\n", id="module"
        ),
        pytest.param(
            b"class A:\n    ### BEGIN SOLUTION\n    a = 1\n    ### END SOLUTION\n    b = 2\n",
            b"class A:\n    # YOUR CODE HERE\n    b = 2\n",
            id="class",
        ),
        pytest.param(
            b"class A:\n  def f(self):\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n",
            b'class A:\n  def f(self):\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n',
            id="method",
        ),
        pytest.param(
            b"def f():\n    class A:\n        b = 2\n        ### BEGIN SOLUTION\n        a = 1\n"
            b"        ### END SOLUTION\n    return A\n",
            b"def f():\n    class A:\n        b = 2\n        # YOUR CODE HERE\n    return A\n",
            id="class in a function",
        ),
        pytest.param(
            b"async def f():\n    def g():\n        ### BEGIN SOLUTION\n        return 1\n        ### END SOLUTION\n"
            b"    ### BEGIN SOLUTION\n    return g\n    ### END SOLUTION\n",
            b'async def f():\n    def g():\n        # YOUR CODE HERE\n        raise NotImplementedError("g")\n'
            b'    # YOUR CODE HERE\n    raise NotImplementedError("f")\n',
            id="nested functions",
        ),
        pytest.param(
            b"def f(x):\n    if x:\n        ### BEGIN SOLUTION\n        y = 1\n        ### END SOLUTION\n    else:\n"
            b"        ### BEGIN SOLUTION\n        y = 2\n        ### END SOLUTION\n    return y\n",
            b'def f(x):\n    if x:\n        # YOUR CODE HERE\n        raise NotImplementedError("f")\n    else:\n'
            b'        # YOUR CODE HERE\n        raise NotImplementedError("f")\n    return y\n',
            id="branches, and code behind",
        ),
        pytest.param(
            b"def f(x):\n  try:\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n"
            b"  except ValueError:\n    ### BEGIN SOLUTION\n    x = 2\n    ### END SOLUTION\n"
            b"  match x:\n    case 1:\n      ### BEGIN SOLUTION\n      x = 3\n      ### END SOLUTION\n",
            b'def f(x):\n  try:\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n'
            b'  except ValueError:\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n'
            b'  match x:\n    case 1:\n      # YOUR CODE HERE\n      raise NotImplementedError("f")\n',
            id="handlers and cases",
        ),
        pytest.param(
            b"def f(x):\n    y = x\n    ### BEGIN SOLUTION\n    if y:\n        return 1\n    # note\n\n    @g\n"
            b"    def h():\n        return (2 +\n 3)\n    x = 1 + \\\n 2; z = '''\n ### END SOLUTION\n'''\n"
            b"    ### END SOLUTION\n",
            b'def f(x):\n    y = x\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n',
            id="every kind of statement inside",
        ),
        pytest.param(
            b"def f(x):\n\t'd'\n\t### BEGIN SOLUTION  \n\treturn 1\n\t### END SOLUTION\t\n",
            b"def f(x):\n\t'd'\n\t# YOUR CODE HERE\n\traise NotImplementedError(\"f\")\n",
            id="tabs, and blanks behind the markers",
        ),
        pytest.param(
            b"\xef\xbb\xbfs = '\xc3\xa9\xe2\x80\xa8'\r\n\x0cdef f(x):\r\n    ### BEGIN SOLUTION\r\n    return 1\r\n"
            b"    ### END SOLUTION",
            b"\xef\xbb\xbfs = '\xc3\xa9\xe2\x80\xa8'\r\n\x0cdef f(x):\r\n    # YOUR CODE HERE\r\n"
            b'    raise NotImplementedError("f")',
            id="BOM, CRLF, form feed, U+2028, no final newline",
        ),
        pytest.param(
            b"a = '''\r\x0b'''\rdef f(x):\n\x0c    ### BEGIN SOLUTION\r    return 1\r\n    ### END SOLUTION\nb = 1\r",
            b"a = '''\r\x0b'''\rdef f(x):\n    # YOUR CODE HERE\r    raise NotImplementedError(\"f\")\nb = 1\r",
            id="mixed newlines",
        ),
        pytest.param(
            b"def f(x):\n    s = '### BEGIN SOLUTION'\n    ### BEGIN SOLUTION\n    return s\n    ### END SOLUTION\n"
            b"    # the solution\n    # solution\n    # what BEGIN SOLUTION means\n",
            b"def f(x):\n    s = '### BEGIN SOLUTION'\n    # YOUR CODE HERE\n    raise NotImplementedError(\"f\")\n"
            b"    # the solution\n    # solution\n    # what BEGIN SOLUTION means\n",
            id="strings and prose",
        ),
        pytest.param(
            b"def f(x: (y := 1)):\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n",
            b'def f(x: (y := 1)):\n    # YOUR CODE HERE\n    raise NotImplementedError("f")\n',
            id="what a __future__ import would forbid",
        ),
        pytest.param(
            b"def f():\n    '\\d'\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n",
            b"def f():\n    '\\d'\n    # YOUR CODE HERE\n    raise NotImplementedError(\"f\")\n",
            id="invalid escape, of which Python warns",
        ),
    ],
)
def test_stub_is_exact(source: bytes, stub: bytes) -> None:
    """Wherever a region may stand, exactly its lines change."""
    assert make_stub(source, "losses.py") == stub


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(b"x = 1\n", ["1: there is no solution region"], id="no region"),
        pytest.param(
            in_function("### BEGIN SOLUTION", "x = 1", "### BEGIN SOLUTION", "y = 2", "### END SOLUTION"),
            ["4: '### BEGIN SOLUTION' inside the region that begins on line 2"],
            id="nested",
        ),
        pytest.param(
            in_function("x = 1", "### END SOLUTION"),
            ["3: '### END SOLUTION' without '### BEGIN SOLUTION' before it"],
            id="END alone",
        ),
        pytest.param(
            in_function("### BEGIN SOLUTION", "x = 1"),
            ["2: '### BEGIN SOLUTION' without '### END SOLUTION' after it"],
            id="BEGIN alone",
        ),
        pytest.param(
            in_function("if x:", "    ### BEGIN SOLUTION", "    x = 1", "### END SOLUTION"),
            ["3: the region begins and ends at different indentations (it ends on line 5)"],
            id="indentation",
        ),
        pytest.param(
            b"def f():\n    a = 1\n    ### BEGIN SOLUTION\n    return a\ndef g():\n    b = 1\n    ### END SOLUTION\n",
            ["3: the region begins in 'f' and ends, on line 7, in 'g'"],
            id="two functions",
        ),
        pytest.param(
            b"def f():\n    a = 1\n    ### BEGIN SOLUTION\n    return a\nif True:\n    b = 1\n    ### END SOLUTION\n",
            ["3: the region begins in 'f' and ends, on line 7, in the module itself"],
            id="out of a function",
        ),
        pytest.param(
            in_function("### BEGIN SOLUTION", "### END SOLUTION", "return 1"),
            ["2: the region holds no statement"],
            id="empty",
        ),
        pytest.param(
            b"class A:\n### BEGIN SOLUTION\n    x = 1\n### END SOLUTION\n    y = 2\n",
            ["2: the markers are not indented like the statements between them"],
            id="not like the code",
        ),
        pytest.param(
            in_function("try:", "    pass", "### BEGIN SOLUTION", "finally:", "    pass", "### END SOLUTION"),
            ["4: the region up to line 7 does not hold whole statements of one block"],
            id="across branches",
        ),
        pytest.param(
            in_function("if x:", "    x", "    ### BEGIN SOLUTION", "else:", "    y = 1", "    ### END SOLUTION"),
            ["4: the region up to line 7 does not hold whole statements of one block"],
            id="an else",
        ),
        pytest.param(
            in_function(
                "if x:", "    ### BEGIN SOLUTION", "    x", "else:", "    x", "    ### END SOLUTION", "    return x"
            ),
            ["3: the region up to line 7 does not hold whole statements of one block"],
            id="two branches",
        ),
        pytest.param(
            in_function("if x:", "    ### BEGIN SOLUTION", "    x = 1", "x = 2", "    ### END SOLUTION"),
            ["3: the region up to line 6 does not hold whole statements of one block"],
            id="out of a block",
        ),
        pytest.param(
            in_function("return [", "    ### BEGIN SOLUTION", "    1,", "    ### END SOLUTION", "]"),
            ["3: a marker stands inside brackets", "5: a marker stands inside brackets"],
            id="brackets",
        ),
        pytest.param(
            in_function("y = 1 \\", "### BEGIN SOLUTION", "y = 2", "### END SOLUTION"),
            ["3: a marker continues the line above"],
            id="backslash",
        ),
        pytest.param(
            in_function("y = 1  ### BEGIN SOLUTION", "return y", "### END SOLUTION"),
            ["2: a marker counts only alone on its line"],
            id="behind code",
        ),
        pytest.param(
            b"def f():\n    ### BEGIN SOLUTION\n    'doc'\n    return 1\n    ### END SOLUTION\n    return (\n",
            ["6: the solved file does not compile: '(' was never closed"],
            id="syntax",
        ),
        pytest.param(
            b"### BEGIN SOLUTION\nreturn 1\n### END SOLUTION\n",
            ["2: the solved file does not compile: 'return' outside function"],
            id="seen by the compiler only",
        ),
        pytest.param(b"a\0b", ["1: the solved file does not compile: source code"], id="null byte"),
        pytest.param(b"x = 1\n# \xff\n", ["2: the solved file is not UTF-8 (byte 0xff)"], id="not UTF-8"),
        pytest.param(
            b"# coding: latin-1\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
            ["1: the solved file declares the encoding 'iso8859-1'"],
            id="declared",
        ),
        pytest.param(
            b"# coding: klingon\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
            ["1: the solved file's encoding is unclear (unknown encoding: klingon)"],
            id="unknown encoding",
        ),
        pytest.param(
            b"### BEGIN SOLUTION\na = 1\nb = 1\n### END SOLUTION\n"
            b"class A:\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n",
            ["6: without the solution the file does not compile: expected an indented block"],
            id="nothing left",
        ),
        pytest.param(
            b"### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n'note'\n",
            ["1: without the region a string becomes the docstring of the module itself"],
            id="new docstring",
        ),
    ],
)
def test_mistake_is_told(source: bytes, expected: list[str]) -> None:
    """Each mistake is told once, with its line, and with what to do."""
    told = problems(source)
    assert len(told) == len(expected)
    for problem, start in zip(told, expected, strict=True):
        assert problem.startswith(f"losses.py:{start}")
        assert " — " in problem or "did you mean" in problem


@pytest.mark.parametrize(
    ("comment", "meant"),
    [
        ("## BEGIN SOLUTION", "BEGIN"),
        ("### BEGIN SOLUTIONS", "BEGIN"),
        ("### begin solution", "BEGIN"),
        ("# Begin solution", "BEGIN"),
        ("###BEGIN SOLUTION", "BEGIN"),
        ("### BEGIN SOLUTION: the sum", "BEGIN"),
        ("### BEGIN  SOLUTION", "BEGIN"),
        ("### BEGIN_SOLUTION", "BEGIN"),
        ("#### BEGIN SOLUTION ####", "BEGIN"),
        ("### BEGIN SOLUTOIN", "BEGIN"),
        ("### End Solution", "END"),
        ("### END SOLUTION.", "END"),
    ],
)
def test_near_miss_is_told(comment: str, meant: str) -> None:
    """A comment that is nearly a marker is a mistake, and the only one told."""
    begin, end = (comment, "### END SOLUTION") if meant == "BEGIN" else ("### BEGIN SOLUTION", comment)
    line = 2 if meant == "BEGIN" else 4
    told = problems(in_function(begin, "return 1", end))
    assert told == (f"losses.py:{line}: {comment!r} is not a marker — did you mean '### {meant} SOLUTION'?",)


def test_all_mistakes_at_once_in_file_order() -> None:
    """Mistakes of different kinds, syntax included, come in one list in the order of their lines."""
    source = in_function(
        "### END SOLUTION",
        "## BEGIN SOLUTION",
        "x = 1",
        "### END SOLUTION",
        "if x:",
        "    ### BEGIN SOLUTION",
        "    x = 2",
        "### END SOLUTION",
        "### BEGIN SOLUTION",
        "### END SOLUTION",
        "### BEGIN SOLUTION",
    )
    assert [int(problem.split(":")[1]) for problem in problems(source)] == [2, 3, 7, 10, 12]
    broken = in_function("### END SOLUTION", "x = = 1", "### BEGIN SOLUTION")
    assert [int(problem.split(":")[1]) for problem in problems(broken)] == [2, 3, 4]


# Pieces for whole files: what stands outside regions, in pairs with what kind of place it is.
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0'\\\x1a"), max_size=12)
_NOISE = st.one_of(
    _TEXTS.map(lambda text: f"'''{text}\n### BEGIN SOLUTION\n{text}'''"),
    _TEXTS.map(lambda text: f"a = '{text} ### END SOLUTION'"),
    _TEXTS.map(lambda text: f"#! {text}"),
    st.sampled_from(["", "\x0c", "b = (\n  1,  # one\n\n)", "c = 1 + \\\n  2", "d = 1; e = 2  # both"]),
)
_SECRET = st.sampled_from(
    ["return 'SECRET'", "SECRET = 1", "if x:\n    SECRET = 2", "'''SECRET\n### END SOLUTION\n'''", "# SECRET\npass"]
)
_INDENTS = st.sampled_from([" ", "    ", "\t"])
_NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A solved file and, built beside it from the same pieces, the stub that it must give."""
    solved: list[str] = []
    stub: list[str] = []

    def both(text: str, indent: str = "") -> None:
        # Lines inside strings and brackets may be indented like all others: that changes no structure.
        lines = [indent + line if line.strip(" \t\x0c") else line for line in text.split("\n")]
        solved.extend(lines)
        stub.extend(lines)

    for number in range(draw(st.integers(1, 3))):
        both(draw(_NOISE))
        name = f"f{number}"
        outer = draw(_INDENTS)
        indent = outer
        both(f"def {name}(x):")
        both(f"'''{name}'''", outer)
        if draw(st.booleans()):
            both("if x:", outer)
            indent = outer * 2
            both(draw(_NOISE), indent)
        for _ in range(draw(st.integers(1, 2))):
            solved.append(f"{indent}### BEGIN SOLUTION")
            for secret in draw(st.lists(_SECRET, min_size=1, max_size=3)):
                solved.extend(f"{indent}{line}" for line in secret.split("\n"))
            solved.append(f"{indent}### END SOLUTION")
            stub.extend([f"{indent}# YOUR CODE HERE", f'{indent}raise NotImplementedError("{name}")'])
            both(draw(_NOISE), indent)
    newline = draw(_NEWLINES)
    bom = draw(st.sampled_from(["", "\ufeff"]))
    end = draw(st.sampled_from(["", newline]))
    return ((bom + newline.join(solved) + end).encode(), (bom + newline.join(stub) + end).encode())


@given(files())
def test_generated_files_keep_every_byte_outside(pair: tuple[bytes, bytes]) -> None:
    """For any file built of regions and noise the stub is the same file with the regions replaced, byte for byte."""
    solved, stub = pair
    compile(solved, "solved.py", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert make_stub(solved, "solved.py") == stub
    assert b"SECRET" not in stub


@given(st.lists(st.sampled_from([*SOLVED.splitlines(keepends=True), b"    ### BEGIN SOLUTION\n", b"(", b"\xff", b"'"])))
def test_shuffled_lines_are_a_stub_or_a_list_of_mistakes(lines: list[bytes]) -> None:
    """Whatever the lines, the answer is a stub that compiles or mistakes with lines: nothing else is raised."""
    source = b"".join(lines)
    told: tuple[str, ...] = ()
    try:
        stub = make_stub(source, "x.py")
    except SpecError as exc:
        told = exc.problems
    else:
        compile(stub, "x.py", "exec", dont_inherit=True)
        told = ("x.py:1: fine",) if b"# YOUR CODE HERE" in stub else ()
    assert told
    assert all(0 < int(problem.split(":")[1]) <= len(lines) + 2 for problem in told)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_solution_lines_are_those_between_the_markers(newline: bytes) -> None:
    """By number, without the markers; those of every region, blank ones and comments included."""
    source = SOLVED + b"\n\nclass C:\n    ### BEGIN SOLUTION\n    x = 1\n\n    # why\n    ### END SOLUTION\n    y = 2\n"
    found = solution_lines(source.replace(b"\n", newline), "x.py")

    text = {number: line.strip() for number, line in found.items()}
    assert text == {17: "secret = x * 0.5", 18: "return secret", 28: "x = 1", 29: "", 30: "# why"}


def test_solution_lines_need_markers_that_pair() -> None:
    """Half a region is refused with the sentence that `make_stub` has for it."""
    with pytest.raises(SpecError) as caught:
        solution_lines(SOLVED.replace(b"return secret\n    ### END SOLUTION\n", b"return secret\n"), "x.py")
    assert list(caught.value.problems) == [
        "x.py:16: '### BEGIN SOLUTION' without '### END SOLUTION' after it — add it where the solution ends"
    ]


def test_last_gate_compares_syntax_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of our own that changed code outside a region would be refused, not shipped."""
    replace = stubs._replace

    def faulty(lines: list[str], regions: list[stubs._Region]) -> tuple[list[str], list[int]]:
        stub, origin = replace(lines, regions)
        return [line.replace("x * 2", "x * 3") for line in stub], origin

    monkeypatch.setattr(stubs, "_replace", faulty)
    assert problems(SOLVED)[0].startswith("losses.py:16: the stub differs from the source outside its regions")
