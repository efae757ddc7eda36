"""A Jupyter notebook as Python text. No kernel, no IPython: the notebook is JSON, and its outputs are not looked at."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any, TypeGuard

from grader.errors import UnreadableSubmission
from grader.members import LIMITS, size
from grader.plain import shown
from grader.source import parse

__all__ = ["cell_at", "to_source"]

MAX_SOURCE = LIMITS[".py"]  # characters of all code cells together
MAX_PARSED = 2 * MAX_SOURCE  # characters parsed while looking for magics: each one found costs a parse of its cell
MAX_CELLS = 2_000  # of all kinds; each code cell costs a parse
_MARK = re.compile(r"# cell (\d+)$")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PYTHON_CELLS = {"capture", "prun", "time", "timeit"}  # cell magics whose cell is Python all the same


def to_source(text: str, name: str) -> tuple[str, tuple[str, ...]]:
    """The code cells of the notebook ``text``, each below a line `# cell N`, and warnings; N counts all cells from 1.

    Tests cells of nbgrader are left out. Lines for IPython and calls of `check` are commented out, in place, and
    `from __future__` imports moved to the first line; so every other line stays as many lines below its `# cell N` as
    it stood in the notebook.
    Raises UnreadableSubmission: not JSON, not a notebook of format 4, too much code.
    """
    source: list[str] = []
    futures: list[str] = []
    silenced: list[str] = []
    ignored: list[str] = []
    budget, length = MAX_PARSED, 0
    for number, cell, tests in _code_cells(text, name):
        length += len(cell)
        if length > MAX_SOURCE:
            raise UnreadableSubmission(f"{shown(name)} holds more than {size(MAX_SOURCE)} of code")
        if tests:
            ignored += [f"cell {number}"] if _is_written(cell) else []
            continue
        lines, magics, budget = _python(cell, budget)
        if "__future__" in cell or "check" in cell:
            futures += _take_out(lines)
        silenced += [f"cell {number}: {shown(magic)}" for magic in magics]
        source += [f"# cell {number}", *lines]
    if futures:
        source.insert(0, f"from __future__ import {', '.join(sorted(set(futures)))}")
    told = {"lines for IPython": silenced, "tests cells, though something was written there,": ignored}
    notes = (f"{what} in {shown(name)} were left out ({_first(places)})" for what, places in told.items() if places)
    return "\n".join([*source, ""]), tuple(notes)


def _first(places: list[str]) -> str:
    return "; ".join(places[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "")


def cell_at(source: str, line: int) -> str:
    """Where line ``line`` of a source made here stands in the notebook: "cell 3, line 2", or "" outside all cells."""
    lines = source.split("\n")[:line]
    for back, text in enumerate(reversed(lines)):
        if match := _MARK.fullmatch(text):
            return f"cell {match[1]}, line {back}"
    return ""


def _code_cells(text: str, name: str) -> list[tuple[int, str, bool]]:
    """Number and code of each code cell, and whether it is marked as a tests cell."""
    try:
        notebook = json.loads(text)  # not msgspec: outputs may hold NaN, which Jupyter writes
    except (ValueError, RecursionError) as error:
        raise UnreadableSubmission(f"{shown(name)} is not a notebook: it does not hold JSON") from error
    if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        raise UnreadableSubmission(f"{shown(name)} has the notebook format 3; open it in Jupyter and save it again")
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UnreadableSubmission(f"{shown(name)} is not a notebook: it holds no list of cells")
    if len(notebook["cells"]) > MAX_CELLS:
        raise UnreadableSubmission(f"{shown(name)} holds more than {MAX_CELLS} cells")
    cells = [(number, _code(cell, number, name), cell) for number, cell in enumerate(notebook["cells"], 1)]
    return [(number, code, _is_tests(cell)) for number, code, cell in cells if code is not None]


def _is_tests(cell: dict[str, Any]) -> bool:
    """Whether nbgrader takes the cell for one whose code is the instructor's and whose run earns points."""
    match cell.get("metadata"):
        case {"nbgrader": {"grade": True, **marks}}:
            return marks.get("solution") is not True
    return False


def _code(cell: Any, number: int, name: str) -> str | None:
    """The cell's code; None for a cell of another kind."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        raise UnreadableSubmission(f"{shown(name)}: cell {number} is damaged; open the notebook in Jupyter and save it")
    if cell["cell_type"] != "code":
        return None
    code = cell.get("source")
    if isinstance(code, list) and all(isinstance(line, str) for line in code):
        code = "".join(code)
    if not isinstance(code, str):
        raise UnreadableSubmission(
            f"{shown(name)}: cell {number} holds no text; open the notebook in Jupyter and save it"
        )
    if "\0" in code or _SURROGATE.search(code):
        raise UnreadableSubmission(f"{shown(name)}: cell {number} holds a character that Python text cannot hold")
    return code.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


def _python(cell: str, budget: int) -> tuple[list[str], list[str], int]:
    """The cell's lines with magics commented out, the magics, and what is left of the budget.

    A line is touched only where Python itself stumbles over it: `% b` may well be the second line of an expression.
    """
    lines = cell.split("\n")
    magics: list[str] = []
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        magics.append(lines[first])
        python = lines[first][2:].split(maxsplit=1)[:1]
        last = first + 1 if python and python[0] in _PYTHON_CELLS else len(lines)
        lines[first:last] = [f"# {line}" for line in lines[first:last]]
    while budget > 0:
        code = "\n".join(lines)
        budget -= len(code)
        try:
            parse(code)
        except SyntaxError as error:
            index = (error.lineno or 1) - 1
            if index >= len(lines) or not _is_magic(lines[index].strip()):
                break
            magics.append(lines[index].strip())
            _comment_out(lines, index)
        except (RecursionError, MemoryError):
            break
        else:
            break
    return lines, magics, budget


def _is_magic(line: str) -> bool:
    """Whether IPython takes the line for itself: %magic, !shell, ?help, help?, and `x = %magic` or `x = !shell`."""
    if line.startswith(("%", "!", "?")) or re.fullmatch(r"[\w.]+\?{1,2}", line):
        return True
    return line.partition("=")[2].lstrip().startswith(("%", "!"))


def _comment_out(lines: list[str], index: int) -> None:
    """Silence one command, which goes on where a line ends in a backslash. `pass`: it may be all that an `if` holds."""
    code = lines[index].lstrip()
    indent = lines[index][: len(lines[index]) - len(code)]
    continued = code.endswith("\\")
    lines[index] = f"{indent}pass  # {code}" if indent else f"# {code}"
    while continued and index + 1 < len(lines):
        index += 1
        continued = lines[index].endswith("\\")
        lines[index] = f"# {lines[index]}"


def _take_out(lines: list[str]) -> list[str]:
    """Comment out `from __future__` imports, which must open the file, and calls of `check`; the names imported."""
    try:
        body = parse("\n".join(lines)).body
    except (SyntaxError, RecursionError, MemoryError):
        return []
    futures = [node for node in body if _is_future(node)]
    checks = [node for node in body if _is_check(node)]
    others = [node for node in body if not _is_future(node) and not _is_check(node)]
    for index in sorted(_indices(futures) | _indices(checks) - _indices(others)):
        lines[index] = f"# {lines[index]}"
    return [alias.name for node in futures for alias in node.names]


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.col_offset == 0


def _indices(nodes: Iterable[ast.stmt]) -> set[int]:
    return {line - 1 for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _is_check(node: ast.stmt) -> bool:
    """Whether the statement is for a kernel with the grader beside it: here nothing comes of it."""
    match node:
        case ast.ImportFrom(module="grader", names=[ast.alias(name="check", asname=None)]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Constant(value=str())], keywords=[])):
            return True
    return False


def _is_written(cell: str) -> bool:
    """Whether a tests cell holds anything beside the calls that it came with."""
    lines = cell.split("\n")
    _take_out(lines)
    return any(line.strip() and not line.startswith("#") for line in lines)
