"""Copies of lines, found however they are indented, quoted, commented out, escaped or joined.

A phrase is a line with its white space collapsed, or apart its code and its comment, for either may be copied without
the other. A reading is a text prepared to be searched for phrases.
"""

from __future__ import annotations

import bisect
import html
import itertools
import re
from collections.abc import Iterable, Iterator

__all__ = ["Index", "Reading", "collapsed", "phrases", "readings"]

MIN_PHRASE, MIN_LETTERS = 20, 8  # shorter or emptier lines are anybody's: `return result`, `)`, `[1.0, 2.0, 3.0],`
LONG = 40  # from here on a phrase is also found inside a line, or over several; shorter ones only as a line

_DECORATION = "#>+-*| "  # at the start of a line: comments, quotations, lists, tables, differences
_INNER = "#> "  # of these where lines are joined: a line that goes on may begin with an operator
_IMPORT = re.compile(r"(from \S+ )?import \S")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t"}


def collapsed(line: str) -> str:
    """``line`` as it is compared: single spaces, no indentation, nothing that turns it into a comment or an item."""
    return " ".join(line.split()).lstrip(_DECORATION)


def phrases(line: str) -> Iterator[str]:
    """What of a line is telling enough to know it again: imports and short lines are not."""
    for phrase in _parts(collapsed(line)):
        if len(phrase) >= MIN_PHRASE and sum(map(str.isalpha, phrase)) >= MIN_LETTERS and not _IMPORT.match(phrase):
            yield phrase


def _parts(row: str) -> set[str]:
    return {row, *row.split(" # ", 1)}


class Reading:
    """A text by lines: ``rows``, collapsed and with their numbers, and ``joined``, all of them in one."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        spaced = ((number, " ".join(line.split()).lstrip(_INNER)) for number, line in lines)
        filled = [(number, row) for number, row in spaced if row]
        self.rows = [(number, row.lstrip(_DECORATION)) for number, row in filled]
        self.joined = " ".join(row for _, row in filled)
        self._starts = list(itertools.accumulate((len(row) + 1 for _, row in filled), initial=0))

    def line(self, offset: int) -> int:
        """The number of the line that holds ``joined[offset]``."""
        return self.rows[bisect.bisect_right(self._starts, offset) - 1][0]


def readings(text: str) -> Iterator[Reading]:
    """``text`` as it stands; and, where it may be escaped, as a string of Python or JSON and as HTML or SVG mean it."""
    lines = list(enumerate(text.splitlines(), 1))
    yield Reading(lines)
    if "\\" in text:
        yield Reading((n, row) for n, line in lines for row in _ESCAPE.sub(_unescaped, line).splitlines())
    if "&" in text:
        yield Reading((n, row) for n, line in lines for row in html.unescape(line).splitlines())


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPED.get(escape, escape)


class Index:
    """Finds any of many phrases, in time proportional to what is read and not to how many there are."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._short: set[str] = set()
        self._long: dict[str, list[str]] = {}  # by their beginning
        for phrase in wanted:
            if len(phrase) < LONG:
                self._short.add(phrase)
            else:
                self._long.setdefault(phrase[:LONG], []).append(phrase)

    def found(self, reading: Reading) -> Iterator[tuple[int, str]]:
        """Line and phrase of every occurrence."""
        for number, row in reading.rows:
            if len(row) >= MIN_PHRASE:
                yield from ((number, part) for part in _parts(row) & self._short)
        text, long = reading.joined, self._long
        for at in [at for at in range(len(text) - LONG + 1) if text[at : at + LONG] in long]:
            for phrase in long[text[at : at + LONG]]:
                if text.startswith(phrase, at):
                    yield reading.line(at), phrase
