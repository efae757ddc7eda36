"""A student's bytes as Python text, and what that text defines, found without running or compiling it."""

from __future__ import annotations

import ast
import codecs
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

from grader.errors import UnreadableSubmission
from grader.plain import line, shown

__all__ = ["checked", "decode", "definitions", "parse", "repeated", "unfinished"]

_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # PEP 263
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?$")
# Encodings in which people write files. Not among them: transformations (unicode_escape) and slow ones (punycode).
_HONOURED = re.compile(r"utf-8|ascii|iso8859-\d+|cp\d+|mac-\w+|koi8-\w|gb\w+|big5\w*|euc_\w+|shift_jis\w*|hz|johab")
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # fields of compound statements that hold more of them


def decode(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    r"""``data`` as text with "\n" line ends, and warnings; ``name`` is for the sentences.

    UTF-8 (with or without a byte-order mark), UTF-16 with one, a PEP 263 declaration, and else Latin-1 with a warning.
    The text must be compiled as text: a declaration in it no longer says anything.
    Raises UnreadableSubmission: NUL bytes, an encoding that is not known, broken UTF-16.
    """
    bom = next((mark for mark in _BOMS if data.startswith(mark)), b"")
    encoding = _BOMS[bom] if bom else _declared(data, name)
    body = data[len(bom) :]
    notes = []
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding.startswith("utf-16"):
            raise UnreadableSubmission(f"{shown(name)} is broken UTF-16; save it as UTF-8") from error
        line = len(re.findall(rb"\r\n?|\n", body[: error.start])) + 1
        notes.append(
            f"{shown(name)} is not {encoding.upper()}: line {line} holds the byte 0x{body[error.start]:02x};"
            " it was read as Latin-1; save it as UTF-8"
        )
        text = body.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableSubmission(f"{shown(name)} holds a NUL character in line {line}; save it as UTF-8 text")
    return text, tuple(notes)


def parse(text: str) -> ast.Module:
    """The syntax tree. Raises SyntaxError (also for half a surrogate pair), RecursionError, MemoryError.

    Never `compile` here: a comprehension with 90,000 `for` parses, and ends the process when it is compiled.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape such as "\d" is the student's affair
        try:
            return ast.parse(text)
        except ValueError as error:  # UnicodeEncodeError is one
            raise SyntaxError(str(error)) from error


def checked(text: str, name: str, place: Callable[[int], str] = "line {}".format) -> ast.Module:
    """The syntax tree; ``place`` puts a line number into words. Raises UnreadableSubmission: no Python, or no code."""
    try:
        tree = parse(text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        where = f"{shown(name)}, {place(error.lineno or 1)}, column {max(error.offset or 1, 1)}"
        quoted = text.split("\n")[(error.lineno or 1) - 1 :][:1]
        code = f": {shown(quoted[0].strip()[:80])}" if quoted and quoted[0].strip() else ""
        raise UnreadableSubmission(f"{where} is not Python {version}: {line(error.msg, 300)}{code}") from error
    except (RecursionError, MemoryError) as error:
        sentence = f"{shown(name)} is nested too deeply for Python to read; write it in smaller steps"
        raise UnreadableSubmission(sentence) from error
    if not tree.body:
        raise UnreadableSubmission(f"{shown(name)} holds no code")
    return tree


def definitions(text: str) -> dict[str, ast.stmt]:
    """What a module's top level binds by `def`, `class`, assignment or import, and where; {} where it does not parse.

    The last binding of a name counts, as it does in Python; branches of `if`, `try`, `with` and loops are looked into.
    """
    try:
        tree = parse(text)
    except (SyntaxError, RecursionError, MemoryError):
        return {}
    return {name: statement for statement in _flat(tree.body) for name in _bound(statement)}


def repeated(tree: ast.Module) -> list[str]:
    """Functions and classes that a module's top level defines more than once; the last one counts."""
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    times = Counter(node.name for node in tree.body if isinstance(node, defined))
    return [name for name in times if times[name] > 1]


def unfinished(statement: ast.stmt) -> bool:
    """Whether the statement still raises NotImplementedError somewhere, as a stub does."""
    raised = [node.exc for node in ast.walk(statement) if isinstance(node, ast.Raise)]
    names = [exc.func if isinstance(exc, ast.Call) else exc for exc in raised]
    return any(isinstance(name, ast.Name) and name.id == "NotImplementedError" for name in names)


def _declared(data: bytes, name: str) -> str:
    for row in re.split(rb"\r\n?|\n", data[:4096], maxsplit=2)[:2]:
        if match := _COOKIE.match(row):
            declared = match[1].decode("ascii", "replace")
            try:
                encoding = codecs.lookup(declared).name
            except LookupError:
                encoding = ""
            if not _HONOURED.fullmatch(encoding.removesuffix("-sig")):
                raise UnreadableSubmission(
                    f"{shown(name)} declares the encoding {shown(declared)}, which is not supported; save it as UTF-8"
                )
            return encoding
        if not _BLANK.match(row):
            break
    return "utf-8"


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, in order. A stack: `elif` nests as deep as it is long."""
    stack: list[ast.AST] = [*reversed(body)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = [part for field in _BLOCKS for part in getattr(node, field, [])]
            stack.extend(inner[::-1])


def _bound(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
    return []
