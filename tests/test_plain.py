"""One sanitiser: text of anybody's choice can be shown anywhere, and honest text stays as it was."""

from __future__ import annotations

import csv
import io
import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import plain

SETTINGS = settings(max_examples=300, deadline=None)
ODD = [*"\t\n\r\x00\x07\x1b\x7f\x85\x9b\u200b\u200d\u2028\u202e\u2066\ufeff\ud800\udcff\u3164\U000e0041=+-@:#['\" 1aé"]
ANY = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=60)
FUNCTIONS = [plain.printable, plain.line, plain.text, plain.shown, plain.csv_cell, plain.workflow]

HOSTILE = {
    "a colour": ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    "a title, by OSC": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "a link, by OSC 8": ("\x1b]8;;http://x\x1b\\y", "\\x1b]8;;http://x\\x1b\\y"),
    "C1's own introducer": ("\x9b2J", r"\x9b2J"),
    "a line drawn over": ("failed\rpassed", r"failed\rpassed"),
    "backspaces": ("bad\b\b\bgood", r"bad\x08\x08\x08good"),
    "NUL and DEL": ("\x00\x7f", r"\x00\x7f"),
    "right to left": ("\u202egnp.exe", r"\u202egnp.exe"),
    "an isolate": ("\u2066x\u2069", r"\u2066x\u2069"),
    "marks of direction": ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
    "zero width": ("a\u200bd\u200ca\u200d\ufeff\u2060", r"a\u200bd\u200ca\u200d\ufeff\u2060"),
    "a soft hyphen": ("ad\u00ada", r"ad\xada"),
    "letters that show nothing": ("\u3164\uffa0\u115f\u1160", r"\u3164\uffa0\u115f\u1160"),
    "joiners that show nothing": ("a\u034fb\u180eb\u17b4", r"a\u034fb\u180eb\u17b4"),
    "a message in variation selectors": ("a\ufe0f\U000e0101", r"a\ufe0f\U000e0101"),
    "a message in tags": ("\U000e0049\U000e0067", r"\U000e0049\U000e0067"),
    "half surrogates": ("\ud800\udcff", r"\ud800\udcff"),
    "other line ends": ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g", r"a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"),
    "private and unassigned": ("\ue000\U000e0fff\uffff", r"\ue000\U000e0fff\uffff"),
    "odd blanks": ("a\xa0b\u3000c", r"a\xa0b\u3000c"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("function", [plain.printable, plain.line, plain.text, plain.csv_cell, plain.workflow])
def test_what_cannot_be_seen_is_written_out(function: Callable[[str], str], name: str) -> None:
    """Whatever moves a cursor, turns text around or hides in it becomes an escape, in every function."""
    raw, shown = HOSTILE[name]
    assert function(raw) == shown
    assert raw != shown


def test_honest_text_stays() -> None:
    """Letters of all kinds, combining marks, symbols and a backslash are as they were."""
    honest = "naïve Σ(x²) ≤ ½·10⁻³ é e\u0301 中文 العربية हिन्दी 😀 → C:\\new \\x1b"
    assert {function(honest) for function in FUNCTIONS if function is not plain.shown} == {honest}


def test_nothing_that_unicode_calls_ignorable_is_left() -> None:
    """Of all code points, none of the categories of controls, formats, surrogates and separators gets through."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    left = {char for char in every if plain.printable(char) == char}
    assert {unicodedata.category(char)[0] for char in left} == {"L", "M", "N", "P", "S", "Z"}
    assert {char for char in left if unicodedata.category(char)[0] == "Z"} == {" "}
    assert len(left) > 140_000


@SETTINGS
@given(ANY)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_twice_is_once(function: Callable[[str], str], text: str) -> None:
    """A second time changes nothing, but for backticks around a name."""
    once = function(text)
    assert function(once[1:-1] if function is plain.shown else once) == once


@SETTINGS
@given(ANY)
def test_only_what_is_promised_comes_out(text: str) -> None:
    """One line is printable; several hold line ends and tabs besides; and every text can be written as UTF-8."""
    one_line: list[Callable[[str], str]] = [plain.printable, plain.line, plain.shown, plain.csv_cell]
    for function in one_line:
        assert function(text).isprintable()
    several: list[Callable[[str], str]] = [plain.text, plain.workflow]
    for function in several:
        assert function(text).replace("\n", "").replace("\t", "").isprintable()
        assert function(text).encode("utf-8").decode("utf-8") == function(text)


@SETTINGS
@given(st.text(st.characters(categories=["L", "Nd", "P", "Sm", "Sc"]), max_size=60))
def test_printable_text_is_unchanged(text: str) -> None:
    """Letters, digits, punctuation and signs, but for the few that show nothing, pass as they are."""
    seen = "".join(char for char in text if char not in "\u115f\u1160\u3164\uffa0")
    assert (plain.printable(seen), plain.line(seen), plain.text(seen)) == (seen, seen, seen)


@SETTINGS
@given(ANY, ANY)
def test_texts_that_differ_in_what_is_unseen_look_different(one: str, other: str) -> None:
    """What differs, backslashes aside, differs when shown: no two names look alike by a hidden character."""
    if "\\" not in one + other:
        assert (one == other) == (plain.printable(one) == plain.printable(other))


def test_line_ends_of_windows_are_one() -> None:
    """A carriage return goes with the line end behind it, and is written out alone."""
    assert plain.text("a\r\nb\r\r\nc\n\rd") == "a\nb\\r\nc\n\\rd"


@pytest.mark.parametrize("length", [1999, 2000, 2001, 4000, 4001, 300_000])
@pytest.mark.parametrize("char", ["a", "\x1b", "\t", "\U000e0041", "é"])
def test_long_lines_are_cut(char: str, length: int) -> None:
    """A line has at most 2,000 characters, its two ends are kept, and the lines around it are as they were."""
    for function in (plain.text, plain.line, plain.csv_cell, plain.workflow):
        cut = function("head" + char * length + "tail")
        assert len(cut) <= 2000 + (cut[0] == "'")
        assert cut.startswith("head")
        assert cut.endswith("tail")
        assert "…" in cut
    around = plain.text("one\n" + char * (length + 2) + "\ntwo").split("\n")
    assert (around[0], around[-1], len(around)) == ("one", "two", 3)
    assert len(around[1]) <= 2000


@SETTINGS
@given(ANY, st.integers(20, 90))
def test_lines_keep_to_their_limit(text: str, limit: int) -> None:
    """The limit counts what is shown, escapes included, and what fits is not cut."""
    shown = plain.line(text, limit)
    assert len(shown) <= limit
    assert shown == plain.printable(text) or len(plain.printable(text)) > limit


def test_names_in_sentences() -> None:
    """Names are printable, short and inside one pair of backticks, whatever they are."""
    assert plain.shown("losses.py") == "`losses.py`"
    assert plain.shown("a`b\x1b[31m\u202e\udcff.py") == r"`a'b\x1b[31m\u202e\udcff.py`"
    assert plain.shown("x" * 50 + "y" * 50) == f"`{'x' * 50}{'y' * 3}…{'y' * 26}`"


@given(st.text(st.characters()))
def test_any_name_in_sentences(name: str) -> None:
    """No name breaks out of its backticks, or puts a control character on a terminal."""
    text = plain.shown(name)
    assert text.isprintable()
    assert text.count("`") == 2
    assert len(text) <= 82


# Sheets


FORMULAS = [
    "=cmd|'/c calc'!A0", "+1+cmd", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\x0b=1", "＝1", "＋1", "－1",
    "＠a", "-", "+1", "-inf", "-1e", "--1", "-1,5",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_are_text(formula: str) -> None:
    """What a sheet could compute starts with an apostrophe, and is otherwise the same line."""
    assert plain.csv_cell(formula) == "'" + plain.line(formula)


@pytest.mark.parametrize("cell", ["-1", "-0.5", "17", "3.25", "-1e-05", "2E+3", "ada", "a=1", "1-1", "", "'=1", "(-1)"])
def test_numbers_stay_numbers(cell: str) -> None:
    """A number, a negative one too, and text that is no formula are as they were."""
    assert plain.csv_cell(cell) == cell


@SETTINGS
@given(st.lists(ANY, min_size=1, max_size=4))
def test_cells_stay_cells(texts: list[str]) -> None:
    """What is written as cells is read as the same cells, one row, and none of them is a formula."""
    cells = [plain.csv_cell(text) for text in texts]
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerow(cells)
    buffer.seek(0)
    assert list(csv.reader(buffer)) == [cells]
    for cell in cells:
        assert not cell.lstrip().startswith(("=", "+", "@"))
        assert not cell.lstrip().startswith("-") or float(cell) <= 0


@SETTINGS
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_stays(number: float) -> None:
    """Whatever Python writes for a finite number is no formula."""
    assert plain.csv_cell(repr(number)) == repr(number)


# Logs of workflows


def is_command(row: str) -> bool:
    """Whether a GitHub runner takes a line of the log for itself: its two forms, as it looks for them."""
    return row.lstrip().startswith("::") or "##[" in row


COMMANDS = {
    "::set-output name=points::20": ": :set-output name=points::20",
    "  \t::add-mask::1": "  \t: :add-mask::1",
    "fine\n::error::no": "fine\n: :error::no",
    "fine\r::error::no": r"fine\r::error::no",
    "fine\r\n::stop-commands::x": "fine\n: :stop-commands::x",
    "##[group]a ##[warning]b": "## [group]a ## [warning]b",
    "###[error]": "### [error]",
    ":::debug::": ": ::debug::",
    "a::b": "a::b",
    "\u2028::error::": r"\u2028::error::",
    "\xa0::error::": r"\xa0::error::",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_words(command: str) -> None:
    """A command to the runner, wherever a line of it may start, is only read."""
    assert plain.workflow(command) == COMMANDS[command]


@SETTINGS
@given(st.text(st.sampled_from([*" \t\n\r:#[a\u2028\xa0\x0b\x1c\x85"]), max_size=30))
def test_no_text_is_a_command(text: str) -> None:
    """No line of the result is a command, by whatever Python takes for a line; and some texts were commands."""
    assert not any(map(is_command, plain.workflow(text).splitlines()))
    assert is_command("::x")
    assert is_command(" ##[x]")
