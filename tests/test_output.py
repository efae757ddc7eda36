"""What a submission prints is kept from both ends, within its bounds."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import plain
from grader.model import Limits
from grader.output import Flooded, Output


def output(kb: int = 1, kill_mb: int = 1) -> Output:
    """An Output that keeps ``kb`` KiB."""
    return Output(Limits(output_kb=kb, output_kill_mb=kill_mb))


def test_short_output_is_kept_whole() -> None:
    """What fits is kept as printed, in order."""
    kept = output()
    kept.add(b"one\n")
    kept.add("zwölf\n".encode())
    assert kept.text() == "one\nzwölf\n"


def test_nothing_printed() -> None:
    """No output is an empty text."""
    assert output().text() == ""


def test_exactly_what_fits() -> None:
    """The last byte that fits is kept, the first one that does not is counted."""
    kept = output()
    kept.add(b"a" * 1024)
    assert kept.text() == "a" * 1024
    kept.add(b"b")
    assert kept.text() == "a" * 512 + "\n… 1 bytes left out …\n" + "a" * 511 + "b"


def test_the_default_limit() -> None:
    """If nothing else is said, 64 KiB are kept."""
    kept = Output(Limits())
    line = b"a" * 63 + b"\n"
    kept.add(line * 1024)
    assert kept.text() == line.decode() * 1024
    kept.add(b"b" * 64)
    assert kept.text() == line.decode() * 512 + "\n… 64 bytes left out …\n" + line.decode() * 511 + "b" * 64


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1500), max_size=8))
def test_head_and_tail(sizes: list[int]) -> None:
    """However it comes in, the first and the last half are kept and the middle is counted."""
    kept, printed = output(), bytearray()
    for size in sizes:
        data = bytes(97 + (len(printed) + i) % 26 for i in range(size))
        printed += data
        kept.add(data)
    whole = printed.decode("ascii")
    if len(whole) <= 1024:
        assert kept.text() == whole
    else:
        assert kept.text() == f"{whole[:512]}\n… {len(whole) - 1024} bytes left out …\n{whole[-512:]}"
    assert kept.total == len(whole)


def test_undecodable_bytes() -> None:
    """Bytes that are no UTF-8, also those of a character cut in the middle, are replaced."""
    kept = output()
    kept.add(b"\xff\xfe ok\n" + "ü".encode() * 2000)
    text = kept.text()
    assert text.startswith("\ufffd\ufffd ok\nü")
    assert text.encode("utf-8")  # nothing in it that could not be written to a file
    assert text.endswith("üü")


FLOODS = {
    "no utf-8": b"\xff",  # three bytes each when replaced
    "controls": b"\x1b",  # four when escaped
    "c1": "\x9b".encode(),
    "carriage returns": b"\r",
    "wide": "\U0001f600".encode(),
    "format characters": "\u202e".encode(),  # six for three
    "tags": "\U000e0041".encode(),  # ten for four
    "line ends": b"\n",
    "one word": b"a",
}


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("size", [600, 1024, 5000])
def test_whatever_is_printed_is_bounded(flood: str, size: int) -> None:
    """What is stored is at most the limit and the note, in UTF-8, twice that in JSON, and plain, head and tail told."""
    kept = output()
    kept.add(b"head\n" + FLOODS[flood] * (size // len(FLOODS[flood])) + b"\ntail")
    text = kept.text()
    assert len(text.encode("utf-8")) <= 1024 + len("\n… 99999 bytes left out …\n".encode())
    assert len(msgspec.json.encode(text)) <= 2 * 1024 + 64
    assert text == plain.text(text)
    assert (text[:5], text[-5:]) == ("head\n", "\ntail")


def test_what_was_cut_after_escaping_is_counted() -> None:
    """The note counts what would have stood here: escapes take more room than the bytes they show."""
    kept = output()
    kept.add(b"\x1b\n" * 512)  # five bytes each when shown
    row, left_out = "\\x1b\n", 512 * 5 - 1024
    assert kept.text() == row * 102 + row[:2] + f"\n… {left_out} bytes left out …\n" + row[-2:] + row * 102


def test_what_is_printed_is_plain() -> None:
    """Lines and tabs stay; what moves a cursor, turns text around or cannot be seen is written out."""
    kept = output()
    kept.add("a\tb\r\n\x1b]0;title\x07\x9b2J\u202e\u200b ü\rc".encode())
    assert kept.text() == "a\tb\n\\x1b]0;title\\x07\\x9b2J\\u202e\\u200b ü\\rc"


def test_nothing_is_kept_if_nothing_may_be() -> None:
    """A limit of 0 keeps nothing and still counts."""
    kept = output(kb=0)
    kept.add(b"abc")
    assert kept.text() == "\n… 3 bytes left out …\n"


def test_draining_a_pipe() -> None:
    """What is in a pipe is taken; an empty one and an ended one are no errors."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    kept = output()
    kept.drain(reader)
    os.write(writer, b"hello")
    kept.drain(reader)
    os.close(writer)
    kept.drain(reader)
    os.close(reader)
    assert (kept.text(), kept.total) == ("hello", 5)


def test_a_flood_is_told() -> None:
    """A worker that prints more than it may raises Flooded, and a new worker has the whole allowance again."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    kept = output(kill_mb=1)

    def write(kib: int) -> None:
        for _ in range(kib // 32):
            os.write(writer, b"x" * 2**15)
            kept.drain(reader)

    write(1024)
    with pytest.raises(Flooded):
        write(32)
    kept.begin()
    write(1024)
    with pytest.raises(Flooded):
        write(32)
    os.close(reader)
    os.close(writer)


def test_the_last_words() -> None:
    """What a worker printed before its end is kept, also past the allowance; an empty pipe is no error."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    kept = output(kill_mb=0)
    kept.finish(reader)
    os.write(writer, b"bye")
    kept.finish(reader)
    os.close(reader)
    os.close(writer)
    assert kept.text() == "bye"
