"""Records go to JSON and back, are strict about what they read, and cannot be changed."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from grader.model import (
    Assignment,
    Case,
    Check,
    CheckFailure,
    CheckScore,
    Evidence,
    Exercise,
    Isolation,
    Limits,
    MistakeFound,
    Outcome,
    Record,
    Run,
    Score,
    Submission,
    strict_number,
)

PUBLIC = Check("f/a", "f", "A", "checks/public/test_f.py", "test_a", 3, False)
HIDDEN = Check(
    "f/b",
    "f",
    "B",
    "checks/hidden/test_f.py",
    "test_b",
    9,
    True,
    0.1,
    True,
    True,
    ("f/a",),
    "cuda",
    ("Look.", "Think."),
)
EVIDENCE = Evidence("inexact", "off", "f(1)", "2", "3", "d", "inf", 1.5, "eps", "why", 7, "float32", 12)
RECORDS = [
    Limits(call_s=0.5),
    Exercise("f", "F", 2.5),
    PUBLIC,
    HIDDEN,
    Assignment("a", "A", "a.py", "/a", "/s", (Exercise("f", "F", 2.5),), (PUBLIC, HIDDEN)),
    Submission("ada", "a.py", "x = 1\n", "0" * 64, warnings=("w",)),
    Submission("bob", "a.py", None, "0" * 64, "no source"),
    EVIDENCE,
    Evidence("wrong", "no"),
    Case("float32", Outcome.FAILED, EVIDENCE),
    Record("f/b", "d", Outcome.TIMED_OUT, 1.5, EVIDENCE, (Case("x", Outcome.PASSED),), True, "cuda"),
    Isolation("namespace", ("rlimits", "landlock")),
    Run(
        1, "a", "ada", "0001", "a.py", "0" * 64, "s", "cpu", Isolation("process", ()), {"torch": "2"}, "2026", 0.5,
        (Record("f/b", "d", Outcome.NOT_RUN),), ("w",), "p", "printed ü",
    ),
    Score(
        "ada", 1.0, 2.0, 0.5, 0.0, "runs/ada/0001.json",
        (CheckScore("f/b", "f", Outcome.PASSED, 0.1, 0.1, True, ""),), (MistakeFound("m", "f", "why"),),
    ),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_survive_json(record: Any) -> None:
    """A record read from its own JSON is equal to it, and the JSON is strict."""
    data = msgspec.json.encode(record)
    assert msgspec.json.decode(data, type=type(record)) == record
    json.loads(data, parse_constant=pytest.fail)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_refuse_unknown_fields(record: Any) -> None:
    """A field that we do not know is an error, not something to overlook."""
    document = {**json.loads(msgspec.json.encode(record)), "passed_by_worker": True}
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(json.dumps(document).encode("utf-8"), type=type(record))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_do_not_change(record: Any) -> None:
    """No field of a record can be set, and none can be added."""
    for name in (*record.__struct_fields__, "more"):
        with pytest.raises(AttributeError):
            setattr(record, name, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1.0), (-0.0, -0.0), (1e308, 1e308), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")],
)
def test_strict_number(value: float, expected: float | str) -> None:
    """Finite numbers stay what they are, the others are called by name, and both survive JSON."""
    got = strict_number(value)
    assert (type(got), got) == (type(expected), expected)
    evidence = Evidence("inexact", "m", error=got)
    assert msgspec.json.decode(msgspec.json.encode(evidence), type=Evidence).error == got


@pytest.mark.parametrize("text", ["infinity", "NaN", "1.0", ""])
def test_no_other_names_for_numbers(text: str) -> None:
    """Only the three names stand for a number."""
    document = json.dumps({"kind": "k", "message": "m", "error": text}).encode("utf-8")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(document, type=Evidence)


def test_outcomes_are_those_of_the_design() -> None:
    """The outcomes, as they stand in files and in `grade --json`."""
    assert [str(outcome) for outcome in Outcome] == [
        "passed",
        "failed",
        "errored",
        "timed_out",
        "skipped",
        "not_run",
        "grader_error",
    ]


def test_hidden_and_public_checks() -> None:
    """An assignment tells its hidden checks from its public ones, each in their order."""
    checks = tuple(msgspec.structs.replace(item, id=f"f/{i}") for i, item in enumerate([PUBLIC, HIDDEN] * 2))
    whole = Assignment("a", "A", "a.py", "/a", "/s", (), checks)
    assert [item.id for item in whole.public_checks] == ["f/0", "f/2"]
    assert [item.id for item in whole.hidden_checks] == ["f/1", "f/3"]


def test_a_check_failure_carries_its_evidence() -> None:
    """The exception's text is the message for the student; the evidence rides along."""
    failure = CheckFailure(EVIDENCE)
    assert (str(failure), failure.evidence) == ("off", EVIDENCE)
