"""What a submission prints is kept from both ends, within its bounds."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    kept.add(b"a" * 65_536 + b"b" * 100)
    assert kept.text() == "a" * 32_768 + "\n… 100 bytes left out …\n" + "a" * 32_668 + "b" * 100


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
