"""The one sanitiser: text of a student's choice as a terminal, a page, a sheet, a log or a JSON file may hold it.

Everything that a submission chose goes through here where it is captured: what it printed, what its exceptions say,
names of files and students. What was printable before stays as it is. Everything else becomes an escape in the way of
Python (`\\x1b`, `\\u202e`): controls (ANSI, OSC, C0, C1), bidirectional marks, zero-width and other format characters,
half surrogates, unassigned and private ones, and letters that show nothing. So no two different texts look alike
because of what cannot be seen, nothing moves a cursor, and nothing hides a message for whoever reads along.

HTML has no function here: jinja2's autoescape does that, for every page. Text may still *say* anything: no program may
decide by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["MAX_LINE", "csv_cell", "line", "printable", "shown", "text", "workflow"]

MAX_LINE = 2_000  # characters of one line: 20 lines of a wide terminal

# Printable in Python's eyes, and yet nothing is seen: Unicode's Default_Ignorable_Code_Point, as far as its general
# categories do not tell (fillers, joiners, variation selectors).
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FORMULA = re.compile("\\s*[=+@\uff1d\uff0b\uff0d\uff20-]|[\t\r\n]")  # the wide ones count in East Asian settings
_COMMAND = re.compile("^([ \t]*:)(?=:)", re.MULTILINE)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def printable(text: str) -> str:
    """``text`` on one line, all of it: whatever is not printable, line ends and tabs too, becomes an escape."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escaped(char) for char in text)
    return text if text.isascii() else _UNSEEN.sub(lambda found: _escaped(found[0]), text)


def line(text: str, limit: int = MAX_LINE) -> str:
    """``text`` on one line of at most ``limit`` characters (20 or more): :func:`printable`, cut in the middle."""
    return _bounded(text, limit, printable)


def text(text: str) -> str:
    r"""``text`` with its lines and tabs: every line as by :func:`line`, and of line ends only "\n" ("\r\n" is one)."""
    return "\n".join(_bounded(row, MAX_LINE, _with_tabs) for row in text.replace("\r\n", "\n").split("\n"))


def _with_tabs(row: str) -> str:
    return "\t".join(map(printable, row.split("\t")))


def _bounded(text: str, limit: int, escape: Callable[[str], str]) -> str:
    # What will be left out is not escaped first: megabytes would become four times as many.
    long = len(text) > 2 * limit
    shown = escape(text[:limit] + text[-limit:] if long else text)
    if len(shown) <= limit:
        return shown
    tail = (limit - 1) // 3
    return f"{shown[: limit - 1 - tail]}…{shown[-tail:]}"


def shown(name: str) -> str:
    """``name`` as a sentence may hold it: in backticks, on one line, of at most 82 characters."""
    return f"`{line(name, 80).replace('`', chr(39))}`"


def csv_cell(text: str) -> str:
    """``text`` for a cell of a CSV file: on one line, and nothing that a spreadsheet takes for a formula.

    What starts like one (``= + - @``, a tab, a line end) is given a leading ``'``; plain numbers, negative ones too,
    stay numbers. The caller quotes every cell (``csv.QUOTE_ALL``): a sheet may split at other signs than the comma.
    """
    cell = line(text)
    return f"'{cell}" if _FORMULA.match(text) and not _NUMBER.fullmatch(cell) else cell


def workflow(words: str) -> str:
    """``words`` for the log of a GitHub workflow: as by :func:`text`, and no line of it is a command to the runner.

    No line starts with ``::``, also not behind blanks, and ``##[``, which the runner finds anywhere, is nowhere: they
    come apart by a blank.
    """
    return _COMMAND.sub(r"\1 ", text(words)).replace("##[", "## [")
