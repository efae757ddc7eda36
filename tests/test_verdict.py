"""What `grader verify` found out, as an instructor reads it and as a program does."""

from __future__ import annotations

import json
import math

import msgspec
import pytest

from grader.diagnose import no_signatures
from grader.verdict import Judged, Verdict, verdict_document, verdict_text

GOOD = Verdict(
    assignment="halves",
    points=2.3,
    bonus=0.0,
    pending=0.0,
    checks={"half/random": 2, "quarter/huge": 1},
    mistakes=(
        Judged("mistakes/half_eps.py", "eps", "half", "", ("half/random",), ("eps",)),
        Judged("mistakes/half_eps.py", "eps", "half", "EPS = 0.5", ("half/random",), ("eps",)),
        Judged("mistakes/quarter_x.py", "x", "quarter", "", ("quarter/huge",), ("x",)),
    ),
    variants=(Judged("variants/shift.py", "shift", "half", "", (), ()),),
    problems=(),
    gaps=(),
    signatures=no_signatures(),
    drift=False,
)
UNNAMED = Judged("mistakes/quarter_y.py", "y", "quarter", "", (), ("x",))
BAD = msgspec.structs.replace(
    GOOD,
    points=1.0,
    bonus=1.5,
    pending=0.5,
    checks={"half/random": 0},
    mistakes=(UNNAMED,),
    variants=(),
    problems=("half/random: the solution does not pass", "the release leaks"),
    gaps=("half/random: has 1 hints, not 3",),
    drift=True,
)
EMPTY = msgspec.structs.replace(GOOD, checks={}, mistakes=(), variants=(), gaps=("there is no mistakes/",))
MISSING = msgspec.structs.replace(GOOD, gaps=("there is no gallery",))
STALE = msgspec.structs.replace(GOOD, drift=True)

HEAD = """\
halves
  solution   2.3 points
  checks     2 hidden checks; 2 of them catch a mistake
  mistakes   2, and 1 with other constants; 3 of 3 named by their answers
  variants   1
"""
NOTHING = """\
halves
  solution   2.3 points
  checks     0 hidden checks; 0 of them catch a mistake
  mistakes   0; 0 of 0 named by their answers
  variants   0
"""
BAD_HEAD = """\
halves
  solution   1 points and 1.5 of bonus, 0.5 pending
  checks     1 hidden check; 0 of them catch a mistake
  mistakes   1; 0 of 1 named by their answers
  variants   0
  ✗ half/random: the solution does not pass
  ✗ the release leaks
"""
OLD = "  ✗ signatures.json is out of date — run `grader verify` and commit what it writes"
NEW = "  signatures.json has been made anew: commit it, and release again\n"


@pytest.mark.parametrize(
    ("verdict", "strict", "text"),
    [
        (GOOD, False, HEAD + "  ✓ holds"),
        (GOOD, True, HEAD + "  ✓ holds, strictly"),
        (MISSING, False, HEAD + "  ! there is no gallery\n  ✓ holds"),
        (MISSING, True, HEAD + "  ✗ there is no gallery"),
        (STALE, False, HEAD + NEW + "  ✓ holds"),
        (STALE, True, HEAD + OLD),
        (EMPTY, False, NOTHING + "  ! there is no mistakes/\n  ✓ holds"),
        (BAD, False, BAD_HEAD + "  ! half/random: has 1 hints, not 3"),
        (BAD, True, BAD_HEAD + "  ✗ half/random: has 1 hints, not 3\n" + OLD),
    ],
)
def test_the_text(verdict: Verdict, strict: bool, text: str) -> None:
    """What holds in a few lines, then everything that does not; signatures are said to be new only if they are."""
    assert verdict_text(verdict, strict=strict) == text


@pytest.mark.parametrize(
    ("verdict", "loosely", "strictly"),
    [(GOOD, True, True), (MISSING, True, False), (STALE, True, False), (EMPTY, True, False), (BAD, False, False)],
)
def test_what_holds(verdict: Verdict, loosely: bool, strictly: bool) -> None:
    """Problems never do; gaps and old signatures do unless somebody is strict."""
    assert (verdict.holds(strict=False), verdict.holds(strict=True)) == (loosely, strictly)


def test_the_document_is_a_fixed_interface() -> None:
    """Key for key, in this order, with the seconds of each verdict; strict JSON and one newline at the end."""
    data = verdict_document([(BAD, 1.5), (GOOD, 0.25)], strict=True)

    assert data.endswith(b"}\n") and not data.endswith(b"\n\n")

    def refused(name: str) -> float:
        raise AssertionError(f"{name} is no JSON")

    document = json.loads(data, parse_constant=refused)
    judged = {
        "file": "mistakes/quarter_y.py", "id": "y", "exercise": "quarter", "variation": "", "not_passed": [],
        "named": ["x"],
    }  # fmt: skip
    expected = {
        "assignment": "halves",
        "holds": False,
        "points": 1.0,
        "bonus": 1.5,
        "pending_points": 0.5,
        "problems": ["half/random: the solution does not pass", "the release leaks"],
        "gaps": ["half/random: has 1 hints, not 3"],
        "checks": [{"id": "half/random", "caught": 0}],
        "mistakes": [judged],
        "variants": [],
        "signatures": "out of date",
        "seconds": 1.5,
    }
    assert list(document) == ["schema", "strict", "assignments"]
    assert (document["schema"], document["strict"]) == (1, True)
    assert document["assignments"][0] == expected
    assert list(document["assignments"][0]) == list(expected)
    good = document["assignments"][1]
    assert (good["holds"], good["signatures"], good["seconds"], len(good["mistakes"])) == (True, "up to date", 0.25, 3)
    assert good["checks"] == [{"id": "half/random", "caught": 2}, {"id": "quarter/huge", "caught": 1}]


def test_strictness_decides_what_the_document_says() -> None:
    """The same verdict holds or not, and the document says by which measure."""
    loose, strict = (json.loads(verdict_document([(STALE, 1.0)], strict=strict)) for strict in (False, True))

    assert (loose["strict"], loose["assignments"][0]["holds"]) == (False, True)
    assert (strict["strict"], strict["assignments"][0]["holds"]) == (True, False)
    assert math.isclose(loose["assignments"][0]["points"], 2.3)  # the same double, whatever JSON made of it


def test_no_verdicts_are_a_document_too() -> None:
    """A course without assignments has an empty list."""
    assert json.loads(verdict_document([], strict=False)) == {"schema": 1, "strict": False, "assignments": []}
