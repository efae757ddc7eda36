"""Lines are compared by what they say, and what anybody might have written is not compared."""

from __future__ import annotations

import time

import pytest

from grader.phrases import Index, Reading, collapsed, phrases, readings

LONG = "losses = shifted.exp().sum(axis).log() - picked"  # 47 characters
SHORT = "losses = losses.where(counted, 0.0)"  # 35


def hits(text: str, *wanted: str) -> set[tuple[int, str]]:
    """Everything that is found in all readings of ``text``."""
    return {hit for reading in readings(text) for hit in Index(wanted).found(reading)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  a\t=  b  ", "a = b"),
        ("\t# a  b", "a b"),
        ("> * a", "a"),
        ("## a | b", "a | b"),
        ("a # b", "a # b"),
        (" \u00a0a\u2003b\n", "a b"),
        ("-->", ""),
    ],
)
def test_a_line_is_collapsed(line: str, expected: str) -> None:
    """One space for any white space, none at the ends, and no sign in front that quotes, lists or comments."""
    assert collapsed(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"    {SHORT}", {SHORT}),
        ("return losses.mean()", {"return losses.mean()"}),  # 20 characters
        ("return losses.sum()", set()),  # 19
        ("[[1.0, 2.0], [3.0, 4.0]], seven", set()),
        ("abcdefgh [1.0, 2.0, 3.0]", {"abcdefgh [1.0, 2.0, 3.0]"}),
        ("abcdefg [1.0, 2.0, 3.0]", set()),  # seven letters
        ("from collections.abc import Callable, Iterator", set()),
        ("import torch.nn.functional as F", set()),
        ("importance = weights.softmax(-1)", {"importance = weights.softmax(-1)"}),
        (f"{SHORT}  # where nothing counts", {f"{SHORT} # where nothing counts", SHORT, "where nothing counts"}),
        (f"x = 1  # {SHORT}", {f"x = 1 # {SHORT}", SHORT}),
        (f"    # {SHORT}", {SHORT}),
    ],
)
def test_what_is_telling_of_a_line(line: str, expected: set[str]) -> None:
    """20 characters with 8 letters, no import; with a comment behind code also each of the two."""
    assert set(phrases(line)) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SHORT, 1),
        (f"x\n\n        {SHORT}\n", 3),
        (f"x\r\n>   {SHORT}  # so", 2),
        (f"'a\\n{SHORT}\\n'", 1),
        ("x\nlosses = losses\\u002ewhere(counted, 0.0)", 2),
        ("&lt;\nlosses = losses.where(counted&#44; 0.0)", 2),
    ],
)
def test_a_short_phrase_is_found_as_a_line(text: str, line: int) -> None:
    """With the number of the line in the file, also where the text is escaped."""
    assert hits(text, SHORT, LONG) == {(line, SHORT)}


@pytest.mark.parametrize("text", [f"so {SHORT}", f"{SHORT} so", SHORT.replace(" = ", "\n= "), SHORT.upper(), "", "\n"])
def test_a_short_phrase_is_not_found_inside_a_line(text: str) -> None:
    """Short pieces of code are too common for that."""
    assert hits(text, SHORT) == set()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\nx{LONG}x", 2),
        (LONG.replace(" - ", "\n\n    - "), 1),
        ("a\n" + f"# {LONG}".replace(" - ", " -\n# "), 2),
        (f"> {LONG}".replace(" - ", "\n> - "), 1),
        (f'{{"a": "b\\"{LONG}\\n"}}', 1),
        (f"\\\n{LONG}", 2),
    ],
)
def test_a_long_phrase_is_found_anywhere(text: str, line: int) -> None:
    """Inside a line and over the ends of lines; the line is where it begins."""
    assert hits(text, LONG) == {(line, LONG)}


def test_phrases_that_begin_alike_are_told_apart() -> None:
    """Also one that begins another, and one that follows another at once."""
    more = f"{LONG}.mean()"
    other = f"{LONG[:40]} - nothing"

    assert hits(more, LONG, more, other) == {(1, LONG), (1, more)}
    assert hits(f"{LONG}{other}", LONG, more, other) == {(1, LONG), (1, other)}
    assert hits(other[:-1], LONG, more, other) == set()
    assert hits(f"x\n{LONG[:40]}", LONG[:40], LONG) == {(2, LONG[:40])}


def test_a_reading_knows_its_lines() -> None:
    """Every character of the joined text belongs to the line that it came from."""
    reading = Reading([(1, " ab"), (2, ""), (4, "- c  d"), (9, "e")])

    assert reading.joined == "ab - c d e"
    assert [reading.line(at) for at in range(len(reading.joined))] == [1, 1, 1, 4, 4, 4, 4, 4, 4, 9]
    assert reading.rows == [(1, "ab"), (4, "c d"), (9, "e")]


def test_many_phrases_take_no_longer_than_few() -> None:
    """A megabyte is read in about the same time for one phrase as for ten thousand."""
    (reading,) = readings("x = some_function(of_this, and_that)\n" * 30_000)
    few, many = Index([LONG]), Index([LONG, *(f"number {n} of many phrases, all of them long" for n in range(10_000))])
    seconds = []
    for index in (few, many):
        start = time.process_time()
        assert list(index.found(reading)) == []
        seconds.append(time.process_time() - start)

    assert seconds[1] < 10 * seconds[0] + 0.1  # searching for each in turn takes thousands of times as long
