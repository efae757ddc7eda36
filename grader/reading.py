"""Files that people write, read strictly: their text, their TOML tables, and what a misspelt name may have meant.

Nothing here raises for a mistake in a file: mistakes are collected as sentences, so that all are told at once.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Table", "did_you_mean", "read_text", "read_toml", "toml_key"]

_LARGEST = 1_000_000  # of any number in a file: more is a slip of the keyboard
_TYPES = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a table"}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` where ``name`` is near one of ``known``, else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def toml_key(key: str) -> str:
    """A key as TOML writes it: bare if it may be, else in quotes."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def read_text(path: Path, where: str, problems: list[str]) -> str | None:
    """The text of a file, without byte order mark; None and one more problem where it has none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = 1 + exc.object.count(b"\n", 0, exc.start)
        problems.append(f"{where}:{line}: not UTF-8 (byte 0x{exc.object[exc.start]:02x}) — save the file as UTF-8")
    except FileNotFoundError:
        problems.append(f"{where}: there is no such file — add it")
    except OSError as exc:
        problems.append(f"{where}: cannot be read ({exc.strerror or exc})")
    return None


def read_toml(path: Path, where: str, problems: list[str]) -> Table | None:
    """The top table of a TOML file, or None and one more problem."""
    text = read_text(path, where, problems)
    if text is None:
        return None
    try:
        return Table(tomllib.loads(text), where, "", problems)
    except (ValueError, RecursionError) as exc:  # ValueError: no TOML, or an integer of thousands of digits
        problems.append(f"{where}: not valid TOML: {exc}")
        return None


@dataclass
class Table:
    """One table of the TOML file: its readers return what is usable, and tell what is wrong with the rest."""

    values: dict[str, object]
    file: str
    path: str  # where the table stands in the file: "", or a dotted key with a final dot
    problems: list[str]

    def say(self, key: str, sentence: str) -> None:
        """Add a problem with this key."""
        self.problems.append(f"{self.file}: {self.path}{toml_key(key)}: {sentence}")

    def only(self, *known: str) -> None:
        """Complain about every key that is not known."""
        for key in self.values:
            if key not in known:
                self.say(key, f"unknown key{did_you_mean(key, known) or ' — known are ' + ', '.join(known)}")

    def has(self, key: str, types: tuple[type, ...], wanted: str, *, required: bool = False) -> bool:
        """Whether the key is there and of one of these types: exactly, for True is not the number 1."""
        if key not in self.values:
            if required:
                self.say(key, f"is missing — add it; it is {wanted}")
            return False
        given = type(self.values[key])
        if given not in types:
            self.say(key, f"is {_TYPES.get(given, 'a date or time')}, but must be {wanted}")
        return given in types

    def text(self, key: str) -> str:
        """A string that must be there and say something; "" where it does not."""
        value = self.values[key] if self.has(key, (str,), "a string", required=True) else None
        if isinstance(value, str) and not value.strip():
            self.say(key, "is empty — write something")
            return ""
        return value if isinstance(value, str) else ""

    def flag(self, key: str) -> bool:
        """True or false; false where there is none."""
        return self.has(key, (bool,), "true or false") and self.values[key] is True

    def number(self, key: str, *, whole: bool = False, required: bool = False) -> int | float | None:
        """A finite number from 0 to a million; None where there is none that can be used."""
        types, wanted = ((int,), "a whole number") if whole else ((int, float), "a number")
        value = self.values[key] if self.has(key, types, wanted, required=required) else None
        if not isinstance(value, int | float):
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self.say(key, f"is {value}, but must be finite")
        elif value < 0:
            self.say(key, "is negative, but must not be")
        elif value > _LARGEST:
            self.say(key, f"is more than {_LARGEST:_} — that cannot be meant")
        else:
            return value
        return None

    def points(self, key: str, *, required: bool = False) -> Fraction | None:
        """Points, exactly as they are written; None where there are none that can be used."""
        value = self.number(key, required=required)
        points = None if value is None else Fraction(str(value))  # of its text: Fraction(0.1) is not 1/10
        if points is not None and (points * 100).denominator != 1:
            self.say(key, f"is {value}, but points are multiples of 0.01")
            return None
        return points

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of non-empty strings; those of them that are."""
        value = self.values[key] if self.has(key, (list,), "a list of strings") else []
        texts = value if isinstance(value, list) else []
        usable = tuple(text for text in texts if isinstance(text, str) and text.strip())
        if len(usable) < len(texts):
            self.say(key, "holds something else than non-empty strings — write sentences, or leave it out")
        return usable

    def table(self, key: str, *, required: bool = False) -> Table:
        """A table; an empty one where there is none."""
        value = self.values[key] if self.has(key, (dict,), "a table", required=required) else {}
        values = value if isinstance(value, dict) else {}
        return Table(values, self.file, f"{self.path}{toml_key(key)}.", self.problems)

    def tables(self) -> dict[str, Table]:
        """The values of this table, each of which must be a table."""
        return {key: self.table(key) for key in self.values}
