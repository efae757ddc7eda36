"""What reads the bytes of others, given bytes of nobody's: ``python -m benchmarks.fuzz [--inputs N] [target …]``.

Each target makes inputs from a seed, random ones, honest ones with some bytes changed, and ones that are changed where
the structure matters, and counts what comes back: an answer, or one of the errors that the target documents. Anything
else ends the run with the number of the input, which makes the same input again. Prints inputs, seconds, what was
refused, and the longest time and the growth of memory that was seen.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.mutate import changed, mutated, noise, relined
from grader import members, notebook, source, spec, stubs, wire
from grader.errors import SpecError, UnreadableSubmission
from tests.assignment_builder import FILES, build

__all__ = ["TARGETS", "Figures", "Target", "Unexpected", "fuzz"]

# The targets: each takes a generator of random numbers and returns what to try, which raises what is documented.

Attempt = Callable[[], object]

DTYPES = list(wire.REPLY_DTYPES.values())
WIRE_LEAVES: list[Any] = [
    None, True, 0, 1, -1, 7, 8, 255, 2**31, 2**63 - 1, 2**64, 8388608, 8388609, 0.5, 1e308, "", "f", "nan", "v", "-5",
    "l", "t", "d", "T", "S", "i", "y", "float32", "float32 ", "int64", "bool", "complex64", "9" * 4001, [0] * 8,
    [1] * 9, [], ["l"], ["d"], ["T", 0], ["T", 1], ["f", "inf"], ["i", "12"], ["y", "float16"], ["l", ["l"]],
    ["T", 0, {"stride": [1]}], ["S", [2], ["T", 0], ["T", 0], {}], ["float32", [2, 3], 24], ["bool", [3], 3],
    ["int64", [0], 0], ["float64", [2**22, 2**22], 0], ["float32", [1], -4], ["d", ["a", 1], ["a", 2]],
    ["d", [["y", "bool"], None]],
]  # fmt: skip


def value(rng: random.Random, depth: int = 0) -> Any:
    """Something that crosses the wire."""
    match rng.randrange(9 if depth < 3 else 6):
        case 0:
            return rng.choice(
                (None, True, False, 2**70, -3, 0.1, float("nan"), float("-inf"), "text é", "", torch.float16)
            )
        case 1 | 2 | 3:
            shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
            return torch.zeros(shape, dtype=rng.choice(DTYPES))
        case 4 | 5:
            return rng.randrange(-(2**40), 2**40)
        case 6:
            return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
        case 7:
            return tuple(value(rng, depth + 1) for _ in range(rng.randrange(4)))
        case _:
            return {rng.choice(("a", "b", 1, None, 2.5, True)): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def plain_data(item: Any) -> bool:
    """Whether an answer is of nothing but the types that `wire` lists for replies."""
    if isinstance(item, torch.Tensor):
        return type(item) is torch.Tensor and item.dtype in DTYPES and item.layout is torch.strided and item.is_cpu
    if type(item) in (list, tuple):
        return all(map(plain_data, item))
    if type(item) is dict:
        return all(type(key) in wire.KEY_TYPES and plain_data(part) for key, part in item.items())
    return item is None or type(item) in (bool, int, float, str, torch.dtype)


def try_wire(rng: random.Random) -> Attempt:
    """A frame as a worker could answer: noise, an honest one with changed bytes, or with a changed header."""
    honest = wire.pack({"v": value(rng), "nonce": "x"}, reply=True)
    kind = rng.randrange(10)
    if kind == 0:
        body = noise(rng)
        frame = wire.HEAD.pack(wire.MAGIC, len(body), 0) + body
    elif kind < 3:
        frame = mutated(honest, rng)
    else:
        header, body_length = wire.lengths(honest[: wire.HEAD.size])
        document = json.loads(honest[wire.HEAD.size : wire.HEAD.size + header])
        body = honest[len(honest) - body_length :]
        table, (_, *pairs) = document
        for _ in range(rng.choice((1, 1, 2, 4))):
            if rng.random() < 0.6:
                pair = rng.choice(pairs)
                pair[1] = changed(pair[1], rng, WIRE_LEAVES)
            elif table:
                at = rng.randrange(len(table))
                table[at] = changed(table[at], rng, WIRE_LEAVES)
        document = [table, ["d", *pairs]]
        document = changed(document, rng, WIRE_LEAVES) if rng.random() < 0.1 else document
        text = json.dumps(document).encode()
        text = mutated(text, rng) if kind == 3 else text
        body = mutated(body, rng) if rng.random() < 0.2 else body
        frame = wire.HEAD.pack(wire.MAGIC, len(text), len(body)) + text + body

    def attempt() -> object:
        message = wire.unpack_frame(frame, reply=True)
        assert plain_data(message), "an answer of another type"
        return message

    return attempt


PYTHON = FILES["solutions/halves/halves.py"].encode()  # with two solution regions
ASSIGNMENT = [name for name in FILES if not name.endswith(".md")]


def try_stubs(rng: random.Random) -> Attempt:
    """A solved file with mistakes."""
    kind = rng.randrange(10)
    text = noise(rng, b"#: ()\n\"'\\\tdefBEGIN") if kind == 0 else (mutated if kind < 4 else relined)(PYTHON, rng)

    def attempt() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know is the instructor's affair
            return compile(stubs.make_stub(text, "halves.py"), "halves.py", "exec", dont_inherit=True)

    return attempt


CELLS = [
    "import torch\n", "%matplotlib inline\nx = 1", "!ls\n", "%%time\nx = 2", "from __future__ import annotations", "",
    'from grader import check\ncheck("half")', "def half(x):\n    return x", "x = %magic", "y?", "a = (1 %\n b)",
    "%%bash\nrm", "if x:\n    %cd /\nelse:\n    !a \\\n b", "'''\n%a\n'''", "\n\n%%capture\ny = 3", "# cell 7\nz = 1",
]  # fmt: skip
NOTEBOOK_LEAVES: list[Any] = [
    None, True, 0, -1, 1e308, "", "code", "markdown", "source", "cells", "worksheets", "\0", "\ud800", "x = (",
    "%a\n" * 50, "# cell 3", "\r\n!x", "-" * 2000, "!" * 2000, [], {}, ["a\n", "b"], ["a", 1], {"cell_type": 1},
    {"cell_type": "code"}, {"cell_type": "code", "source": 7}, {"cell_type": "code", "source": "((((" * 100},
    {"nbgrader": {"grade": True}},
]  # fmt: skip


def try_notebook(rng: random.Random) -> Attempt:
    """A notebook, cells and marks changed, or its text."""
    cells: list[Any] = []
    for text in rng.sample(CELLS, rng.randrange(6)):
        cell = text
        if rng.random() < 0.5:
            changed_text = rng.choice((mutated, relined))(text.encode(), rng)
            cell = changed_text.decode("utf-8", rng.choice(("replace", "replace", "surrogateescape")))
        cells.append({"cell_type": "code", "metadata": {"nbgrader": {"grade": rng.random() < 0.2}}, "source": cell})
    document: Any = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    kind = rng.randrange(4)
    for _ in range(rng.choice((0, 1, 1, 2)) if kind else 0):
        document = changed(document, rng, NOTEBOOK_LEAVES)
    data = json.dumps(document).encode()
    data = mutated(data, rng) if kind == 2 else noise(rng, b'{}[]",:\\u0d8ncells') if kind == 3 else data

    def attempt() -> object:
        text, _ = source.decode(data, "a.ipynb")
        text, notes = notebook.to_source(text, "a.ipynb")
        assert all(map(str.isprintable, notes)), "a note that is not printable"
        source.definitions(text)
        return notebook.cell_at(text, rng.randrange(50))

    return attempt


def zipped(rng: random.Random) -> bytes:
    """A zip of a few files, with names and sizes of all kinds."""
    names = [
        "losses.py",
        "a/b/losses.py",
        "x.ipynb",
        "__MACOSX/._a",
        ".git/config",
        "e\u0301.py",
        "inner.zip",
        "a" * 300,
    ]
    if rng.random() < 0.2:
        names = ["Losses.py", "losses.py", "../evil.py", "/abs.py", "C:\\x.py", "é.py", "dir/", "a//b.py", "./c.py"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in rng.sample(names, rng.choice((1, 1, 2, 3))):
            info = zipfile.ZipInfo(name)
            info.compress_type = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED))
            info.external_attr = rng.choice((0, 0o100644, 0o100644, 0o100644, 0o100755, 0o120777, 0o040755)) << 16
            archive.writestr(info, rng.choice((b"", b"x = 1\n", b"x = 1\n" * 500, bytes(100_000), rng.randbytes(200))))
        archive.comment = rng.choice((b"", b"PK\x05\x06", b"c" * 50))
    return buffer.getvalue()


RECORDS = {b"PK\x01\x02": 46, b"PK\x03\x04": 30, b"PK\x05\x06": 22}  # signature → bytes of the fixed part


def try_zip(rng: random.Random) -> Attempt:
    """A zip with changed bytes, or with lies in the fields of its records; every member of it is read."""
    data = zipped(rng)
    kind = rng.randrange(5)
    if kind == 0:
        data = mutated(data, rng)
    elif kind == 1:
        data = data[: rng.randrange(len(data))] + noise(rng)
    else:
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            signature = rng.choice((*RECORDS, b"PK\x01\x02", b"PK\x01\x02"))
            places = [at for at in range(len(out)) if out.startswith(signature, at)]
            if places:
                at = rng.choice(places) + rng.randrange(4, RECORDS[signature], 2)
                number = rng.choice((0, 1, 8, 9, 12, 14, 0xFFFF, 0xFFFFFFFF, rng.randrange(2**32)))
                size = rng.choice((2, 4))
                out[at : at + size] = struct.pack("<I", number)[:size]
        data = bytes(out)

    def attempt() -> object:
        found = members.of_zip(data, "a.zip")
        return [len(member.read()) for member in found]

    return attempt


TOML_SIGNS = b"[]{}=\"'.#\n abcid_0129-"


def try_spec(rng: random.Random) -> Attempt:
    """An assignment with mistakes in its TOML, its checks, its reference or its solution."""
    name = rng.choice([ASSIGNMENT[0], ASSIGNMENT[0], *ASSIGNMENT])
    text = FILES[name].encode()
    kind = rng.randrange(10)
    text = noise(rng, TOML_SIGNS) if kind == 0 else (mutated if kind < 4 else relined)(text, rng)

    def attempt() -> object:
        path = COURSE / name
        path.write_bytes(text)
        try:
            return spec.load(COURSE / "assignments" / "halves")
        finally:
            path.write_bytes(FILES[name].encode())

    return attempt


COURSE = Path()  # set for as long as `spec` is fuzzed


@contextmanager
def _course() -> Iterator[None]:
    global COURSE  # noqa: PLW0603 - targets take nothing but random numbers
    with tempfile.TemporaryDirectory() as folder:
        COURSE = Path(folder)
        build(COURSE)
        yield


class Target(NamedTuple):
    """What is fuzzed, and which errors it documents."""

    attempt: Callable[[random.Random], Attempt]
    documented: tuple[type[Exception], ...]


TARGETS = {
    "wire": Target(try_wire, (wire.ProtocolError,)),
    "stubs": Target(try_stubs, (SpecError,)),
    "notebook": Target(try_notebook, (UnreadableSubmission,)),
    "zip": Target(try_zip, (UnreadableSubmission,)),
    "spec": Target(try_spec, (SpecError,)),
}


class Unexpected(AssertionError):  # noqa: N818 - it says more than an error would
    """An input brought something else than an answer or a documented error; its number makes it again."""


class Figures(NamedTuple):
    """What a number of inputs came to."""

    inputs: int
    seconds: float
    answered: int
    refused: Counter[str]  # by the error's name and the start of its sentence
    worst_s: float  # CPU time of one input, the making of it aside
    worst: int  # its number
    growth_mib: float  # of the process's largest memory, from the first hundred inputs on


def fuzz(name: str, inputs: int, first: int = 0) -> Figures:
    """Try ``inputs`` inputs of a target, from number ``first`` on. Raises Unexpected."""
    target = TARGETS[name]
    refused: Counter[str] = Counter()
    answered, worst_s, worst, memory = 0, 0.0, first, 0.0
    start = time.perf_counter()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the largest memory so far
    with _course():
        for number in range(first, first + inputs):
            attempt = target.attempt(random.Random(f"{name} {number}"))
            if number <= first + 100:
                memory = _peak()
            clock = time.process_time()
            try:
                attempt()
                answered += 1
            except target.documented as error:
                refused[f"{type(error).__name__}: {_start(str(error))}"] += 1
            except BaseException as error:
                raise Unexpected(f"{name}, input {number}: {type(error).__name__}: {str(error)[:300]}") from error
            if (took := time.process_time() - clock) > worst_s:
                worst_s, worst = took, number
    return Figures(inputs, time.perf_counter() - start, answered, refused, worst_s, worst, _peak() - memory)


def _peak() -> float:
    """The largest memory of this process so far, in MiB; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _start(sentence: str) -> str:
    """The first sentence without its place, and without what it quotes."""
    sentence = re.sub(r"^\S+:(\d+:)? ", "", sentence.partition("\n")[0])
    return re.sub(r"`[^`]*`|'[^']*'|[\d.]+|0x\w+", "…", sentence)[:60]


def main() -> None:
    """Fuzz the targets named, or all, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    given = parser.parse_args()
    if unknown := set(given.targets) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    for name in given.targets or TARGETS:
        found = fuzz(name, given.inputs, given.first)
        print(
            f"{name}: {found.inputs} inputs in {found.seconds:.1f} s; {found.answered} answered,"
            f" {found.refused.total()} refused; longest {found.worst_s * 1000:.1f} ms (input {found.worst}),"
            f" memory grew by {found.growth_mib:.1f} MiB"
        )
        for sentence, count in found.refused.most_common(12):
            print(f"  {count:>8}  {sentence}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
