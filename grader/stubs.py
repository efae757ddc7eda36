"""From a solved file to the student's stub: what stands between the solution markers is replaced.

    def half(x):                            def half(x):
        \"""x / 2, rounded once\"""             \"""x / 2, rounded once\"""
        ### BEGIN SOLUTION          -->         # YOUR CODE HERE
        return x * 0.5                          raise NotImplementedError("half")
        ### END SOLUTION

Only a comment alone on its line is a marker. Text search would also find the markers in strings, and then cut
away whatever follows them.
"""

from __future__ import annotations

import ast
import codecs
import difflib
import io
import itertools
import re
import tokenize
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BEGIN", "END", "PLACEHOLDER", "make_stub", "solution_lines"]

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
PLACEHOLDER = "# YOUR CODE HERE"

# Python's own idea of a line: str.splitlines would also cut at form feeds and at U+2028, inside strings.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_Problems = list[tuple[int, str]]  # line, and what to say about it


@dataclass(frozen=True)
class _Marker:
    line: int
    text: str  # BEGIN or END
    indent: str
    sound: bool  # False: already complained about; it only keeps the pairs together


@dataclass(frozen=True)
class _Region:
    """A pair of markers, and the statements between them: neighbours in ``block``, a list in the syntax tree."""

    begin: int
    end: int
    indent: str
    owner: _Scope
    block: list[ast.stmt]
    stmts: list[ast.stmt]

    @property
    def function(self) -> str | None:
        """The function that the student is to complete here; None at module and class level."""
        return self.owner.name if isinstance(self.owner, ast.FunctionDef | ast.AsyncFunctionDef) else None


def make_stub(source: bytes, name: str) -> bytes:
    """The student's file: ``source`` with every solution region replaced, and no other byte changed.

    In a function a region becomes ``# YOUR CODE HERE`` and ``raise NotImplementedError("<function>")`` at the
    markers' indentation; in a class or a module ``# YOUR CODE HERE`` alone. The stub compiles, and outside the
    regions its syntax tree and its docstrings are those of the source. ``name`` is the file's name in messages.

    Raises SpecError with all mistakes, each as "name:line: what is wrong — what to do".
    """
    text = _decode(source, name)
    lines: list[str] = _LINE.findall(text)
    plain = _plain(lines)
    problems: _Problems = []

    tree = _parse(plain, problems)
    if tree is None:
        line, sentence = problems[-1]
        problems[-1] = (line, f"the solved file does not compile: {sentence} — mend it first")
    tokens = list(_tokens(plain))
    pairs = _pairs(_markers(tokens, plain, problems), problems)
    regions = []
    if tree is not None:
        code = {line for token in tokens if _is_code(token) for line in range(token.start[0], token.end[0] + 1)}
        regions = [_region(begin, end, tree, plain, code, problems) for begin, end in pairs]
    if not problems and not regions:
        problems.append((1, f"there is no solution region — put {BEGIN!r} and {END!r} around each solution"))

    stub = lines
    if tree is not None and not problems:
        found = [region for region in regions if region is not None]
        stub, origin = _replace(lines, found)
        _compare(tree, found, stub, origin, problems)
    _refuse(problems, name)
    bom = codecs.BOM_UTF8 if source.startswith(codecs.BOM_UTF8) else b""
    return bom + "".join(stub).encode("utf-8")


def solution_lines(source: bytes, name: str) -> dict[int, str]:
    """The lines between the solution markers, by line number: what no stub holds.

    Raises SpecError where the file is not UTF-8 or the markers do not pair.
    """
    plain = _plain(_LINE.findall(_decode(source, name)))
    problems: _Problems = []
    pairs = _pairs(_markers(list(_tokens(plain)), plain, problems), problems)
    _refuse(problems, name)
    return {line: plain[line - 1] for begin, end in pairs for line in range(begin.line + 1, end.line)}


def _refuse(problems: _Problems, name: str) -> None:
    if problems:
        raise SpecError([f"{name}:{line}: {sentence}" for line, sentence in sorted(problems, key=lambda p: p[0])])


def _decode(source: bytes, name: str) -> str:
    """The text of ``source``, without byte order mark; SpecError unless it is UTF-8 and does not say otherwise."""
    advice = "save it as UTF-8, and without a coding line"
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = 1 + source.count(b"\n", 0, exc.start)
        byte = source[exc.start]
        raise SpecError([f"{name}:{line}: the solved file is not UTF-8 (byte 0x{byte:02x}) — {advice}"]) from None
    try:
        declared = codecs.lookup(tokenize.detect_encoding(io.BytesIO(source).readline)[0]).name
    except (SyntaxError, LookupError) as exc:
        raise SpecError([f"{name}:1: the solved file's encoding is unclear ({exc}) — {advice}"]) from None
    if declared not in {"utf-8", "utf-8-sig"}:
        raise SpecError([f"{name}:1: the solved file declares the encoding {declared!r} — {advice}"])
    return text


def _plain(lines: list[str]) -> list[str]:
    """The lines with "\\n" for every newline: so Python counts them as we do."""
    return [line.removesuffix(_newline(line)) + "\n" for line in lines]


def _newline(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _parse(plain: list[str], problems: _Problems) -> ast.Module | None:
    """The syntax tree, or None and one more problem, where Python cannot compile the lines."""
    text = "".join(plain)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in a string is the author's business
            # Compiled, not only parsed: a `return` outside a function is seen by the compiler alone.
            # dont_inherit, or this module's own __future__ import would be in force.
            compile(text, "<source>", "exec", dont_inherit=True)
            return ast.parse(text)
    except SyntaxError as exc:
        problems.append((exc.lineno or 1, exc.msg))
    except (ValueError, RecursionError, MemoryError) as exc:  # null bytes; nested too deeply
        problems.append((1, str(exc) or type(exc).__name__))
    return None


def _tokens(plain: list[str]) -> Iterator[tokenize.TokenInfo]:
    """The tokens, as far as they can be read."""
    feed = iter(plain)
    try:
        yield from tokenize.generate_tokens(lambda: next(feed, ""))
    except (tokenize.TokenError, SyntaxError):
        return  # the source does not compile, which has been said


def _is_code(token: tokenize.TokenInfo) -> bool:
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    return token.type not in layout


def _markers(tokens: list[tokenize.TokenInfo], plain: list[str], problems: _Problems) -> list[_Marker]:
    """All markers in order, those included that are only meant to be some."""
    markers = []
    depth = 0
    for token, following in itertools.pairwise(tokens):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        comment = token.string.rstrip()
        meant = _meant(comment) if token.type == tokenize.COMMENT else None
        if meant is None:
            continue
        row, column = token.start
        line = plain[row - 1]
        complaint = ""
        if line[:column].strip(" \t\f"):
            complaint = "a marker counts only alone on its line — move it to a line of its own"
        elif comment != meant:
            complaint = f"{comment!r} is not a marker — did you mean {meant!r}?"
        elif depth:
            complaint = "a marker stands inside brackets — a region holds whole statements: move it out of them"
        elif following.type == tokenize.NEWLINE:
            complaint = "a marker continues the line above, which ends in a backslash — remove the backslash"
        if complaint:
            problems.append((row, complaint))
        markers.append(_Marker(row, meant, _indent(line), sound=not complaint))
    return markers


def _meant(comment: str) -> str | None:
    """The marker that ``comment`` is, or that its author seems to have wanted; None for any other comment."""
    if comment in {BEGIN, END}:
        return comment
    spoken = {"begin solution": BEGIN, "end solution": END}
    words = " ".join(re.findall("[a-z]+", comment.lower()))
    # 0.85 lets two wrong letters pass, and keeps "# solution" and "# the solution" what they are: prose
    near = difflib.get_close_matches(words, spoken, n=1, cutoff=0.85)
    if not near and comment.startswith("##"):
        near = [start for start in spoken if words.startswith(start)]
    return spoken[near[0]] if near else None


def _indent(line: str) -> str:
    """The white space at the start of ``line`` that counts: a form feed begins it anew."""
    return line[: len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]


def _pairs(markers: list[_Marker], problems: _Problems) -> list[tuple[_Marker, _Marker]]:
    """BEGIN and END, joined; only those about which nothing has been said yet."""
    pairs = []
    begin: _Marker | None = None
    for marker in markers:
        if marker.text == BEGIN:
            if begin is not None:
                told = f"{BEGIN!r} inside the region that begins on line {begin.line} — put {END!r} before it"
                problems.append((marker.line, told))
            begin = marker
        elif begin is None:
            problems.append((marker.line, f"{END!r} without {BEGIN!r} before it — add it, or remove this line"))
        else:
            if begin.sound and marker.sound:
                pairs.append((begin, marker))
            begin = None
    if begin is not None:
        problems.append((begin.line, f"{BEGIN!r} without {END!r} after it — add it where the solution ends"))
    return pairs


def _region(
    begin: _Marker, end: _Marker, tree: ast.Module, plain: list[str], code: set[int], problems: _Problems
) -> _Region | None:
    """The region between two markers, or None and one more problem.

    ``code`` are the lines on which there is something else than comments.
    """
    if begin.indent != end.indent:
        told = "the region begins and ends at different indentations"
        problems.append((begin.line, f"{told} (it ends on line {end.line}) — give both markers the same"))
        return None
    start, stop = _scope_at(begin, tree, plain), _scope_at(end, tree, plain)
    if start is not stop:
        told = f"the region begins in {_called(start)} and ends, on line {end.line}, in {_called(stop)}"
        problems.append((begin.line, f"{told} — make it a region in each of them"))
        return None

    groups: list[tuple[_Scope, list[ast.stmt], list[ast.stmt]]] = []
    covered: set[int] = set()
    for owner, block in _blocks(tree, tree):
        lines = {id(stmt): range(_first_line(stmt), (stmt.end_lineno or stmt.lineno) + 1) for stmt in block}
        stmts = [stmt for stmt in block if begin.line < lines[id(stmt)].start and lines[id(stmt)].stop <= end.line]
        if stmts and lines[id(stmts[0])].start not in covered:  # else they are part of a statement taken already
            groups.append((owner, block, stmts))
            covered.update(*(lines[id(stmt)] for stmt in stmts))
    inside = {line for line in code if begin.line < line < end.line}
    if not inside:
        problems.append((begin.line, "the region holds no statement — put the solution between its markers"))
    elif len(groups) != 1 or not inside <= covered:
        told = f"the region up to line {end.line} does not hold whole statements of one block"
        problems.append((begin.line, f"{told} — let it begin and end where a statement does, in the same block"))
    elif _indent(plain[_first_line(groups[0][2][0]) - 1]) != begin.indent:
        told = "the markers are not indented like the statements between them"
        problems.append((begin.line, f"{told} — indent them alike"))
    else:
        return _Region(begin.line, end.line, begin.indent, *groups[0])
    return None


def _scope_at(marker: _Marker, tree: ast.Module, plain: list[str]) -> _Scope:
    """Where a marker stands, judged as a reader does: by what is above it and indented less."""
    scope: _Scope = tree
    depth = -1
    stmts = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno < marker.line)
    for stmt in sorted(stmts, key=lambda node: node.lineno, reverse=True):
        indent = len(_indent(plain[stmt.lineno - 1]))
        if depth >= 0 and indent >= depth:
            continue
        depth = indent
        if isinstance(stmt, _Scope) and indent < len(marker.indent):
            return stmt
    return scope


def _called(scope: _Scope) -> str:
    return "the module itself" if isinstance(scope, ast.Module) else f"{scope.name!r}"


def _blocks(node: ast.AST, owner: _Scope) -> Iterator[tuple[_Scope, list[ast.stmt]]]:
    """Every list of statements below ``node``, outer before inner, with the scope that it stands in."""
    owner = node if isinstance(node, _Scope) else owner
    for _, value in ast.iter_fields(node):
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                yield owner, value
            for child in value:
                if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                    yield from _blocks(child, owner)


def _first_line(stmt: ast.stmt) -> int:
    """Decorators are part of a definition, though its ``lineno`` is that of ``def``."""
    decorators = stmt.decorator_list if isinstance(stmt, _Scope) else []
    return min([stmt.lineno, *(decorator.lineno for decorator in decorators)])


def _replace(lines: list[str], regions: list[_Region]) -> tuple[list[str], list[int]]:
    """The lines of the stub, and for each the line of the source that it comes from."""
    stub: list[str] = []
    origin: list[int] = []
    done = 0
    for region in regions:
        stub += lines[done : region.begin - 1]
        origin += range(done + 1, region.begin)
        # Newlines are the markers' own: a file may mix them, and may end without one.
        begin_newline, end_newline = (_newline(lines[line - 1]) for line in (region.begin, region.end))
        text = region.indent + PLACEHOLDER
        if region.function:
            text += f'{begin_newline}{region.indent}raise NotImplementedError("{region.function}")'
        replaced = _LINE.findall(text + end_newline)
        stub += replaced
        origin += [region.begin] * len(replaced)
        done = region.end
    return stub + lines[done:], origin + list(range(done + 1, len(lines) + 1))


def _compare(tree: ast.Module, regions: list[_Region], stub: list[str], origin: list[int], problems: _Problems) -> None:
    """Add a problem unless the stub is what it must be: ``tree`` (changed here) with its regions replaced."""
    found = _parse(_plain(stub), problems)
    if found is None:
        line, sentence = problems[-1]
        line = origin[min(line, len(origin)) - 1]
        told = f"without the solution the file does not compile: {sentence}"
        problems[-1] = (line, f"{told} — leave a statement or a docstring there")
        return
    scopes = [node for node in ast.walk(tree) if isinstance(node, _Scope)]
    docstrings = [ast.get_docstring(node, clean=False) for node in scopes]
    for region in regions:
        raising = f"raise NotImplementedError({region.function!r})" if region.function else ""
        at = region.block.index(region.stmts[0])
        region.block[at : at + len(region.stmts)] = ast.parse(raising).body
    if ast.dump(tree) != ast.dump(found):
        problems.append((regions[0].begin, "the stub differs from the source outside its regions — simplify them"))
    for scope, before in zip(scopes, docstrings, strict=True):
        if ast.get_docstring(scope, clean=False) not in {None, before}:
            told = f"without the region a string becomes the docstring of {_called(scope)}"
            problems.append((regions[0].begin, f"{told} — put another statement before it"))
