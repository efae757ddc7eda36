"""Random changes to bytes, lines and JSON documents, for the fuzzer: the same generator makes the same ones."""

from __future__ import annotations

import random
import struct
from typing import Any

__all__ = ["changed", "mutated", "noise", "relined", "tree"]

# Bytes on which parsers go wrong: ends of ranges, signs of structure, half characters.
ODD = [
    b"", b"\0", b"\n", b"\r", b"\t", b"\x0c", b"\x7f", b"\x80", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xff\xfe",
    b"\xef\xbb\xbf", b'"', b"'", b"\\", b"\\\n", b"\\u0000", b"\\ud800", b"[", b"]", b"{", b"}", b"(", b")", b",",
    b":", b"=", b"#", b"%", b"%%", b"!", b"/", b"../", b'"""', b"-1", b"0", b"1.5", b"1e999", b"null", b"true", b"NaN",
    b"[" * 200, b"(" * 300, b"9" * 5000, b"-" * 500, b"4294967295", b"9223372036854775808", b"18446744073709551615",
    b"### BEGIN SOLUTION\n", b"### END SOLUTION\n", b"def f():\n", b"    ", b"lambda x:", b"async ", b"f'{", b"if x:\n",
    "\u2028".encode(), "é".encode(), "\ufb01".encode(), "\U0001f600".encode(), b"for x in y ",
]  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one to eight changes: bits, bytes, numbers, parts gone, twice, elsewhere, or odd ones put in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at, end = sorted(rng.randrange(len(out) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 4, 16, 200)))
        match rng.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(out):
                out[at] = rng.randrange(256)
            case 2:
                del out[at:end]
            case 3:
                out[at:at] = out[at:end] * rng.choice((1, 2, 50))
            case 4:
                piece = bytes(out[at:end])
                del out[at:end]
                place = rng.randrange(len(out) + 1)
                out[place:place] = piece
            case 5:
                out[at : at + rng.choice((0, 1, 4))] = rng.choice(ODD)
            case _:
                number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, rng.randrange(2**16)))
                packed = struct.pack("<Q", number)[: rng.choice((1, 2, 4, 8))]
                out[at : at + len(packed)] = packed
    return bytes(out)


def relined(data: bytes, rng: random.Random) -> bytes:
    """``data`` with some of its lines gone, twice, elsewhere, joined or changed."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[at] = rng.choice((b"", lines[other], lines[at] + lines[other], b" " + lines[at], mutated(lines[at], rng)))
    return b"\n".join(lines)


def noise(rng: random.Random, signs: bytes = b"") -> bytes:
    """Random bytes, of all kinds or of ``signs``."""
    size = rng.choice((0, 1, 7, 40, 300))
    return bytes(rng.choice(signs) for _ in range(size)) if signs and rng.random() < 0.7 else rng.randbytes(size)


def tree(rng: random.Random, leaves: list[Any], depth: int = 0) -> Any:
    """A JSON document of ``leaves``, lists and objects."""
    if depth > rng.choice((1, 3, 5)):
        return rng.choice(leaves)
    parts = [tree(rng, leaves, depth + 1) for _ in range(rng.choice((0, 1, 2, 3, 5)))]
    if rng.random() < 0.3:
        return {str(rng.choice(leaves)): part for part in parts}
    return parts if rng.random() < 0.8 else rng.choice(leaves)


def changed(document: Any, rng: random.Random, leaves: list[Any]) -> Any:
    """A JSON document with one of its parts replaced, taken out, or put in twice."""
    if not isinstance(document, (list, dict)) or not document or rng.random() < 0.05:
        return rng.choice(leaves) if rng.random() < 0.8 else tree(rng, leaves)
    out = document.copy()
    key = rng.choice(range(len(out)) if isinstance(out, list) else list(out))
    match rng.randrange(6):
        case 0:
            del out[key]
        case 1 if isinstance(out, list):
            out.insert(key, out[rng.randrange(len(out))])
        case _:
            out[key] = changed(out[key], rng, leaves)
    return out
