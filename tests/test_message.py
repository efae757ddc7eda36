"""One failure as a student reads it at home."""

from __future__ import annotations

import pytest

from grader.message import failure_text, outcome_word
from grader.model import Check, Evidence, Outcome

CHECK = Check("f/small", "f", "f of small numbers", "checks/public/test_f.py", "test_small", 12, False)


@pytest.mark.parametrize("outcome", Outcome)
def test_outcomes_have_words(outcome: Outcome) -> None:
    """Every outcome has a word of its own, without the underscore of a program."""
    word = outcome_word(outcome)
    assert word
    assert "_" not in word
    assert [other for other in Outcome if outcome_word(other) == word] == [outcome]


def test_a_full_failure() -> None:
    """What, where, evidence and why stand in a fixed order, the line in the student's file first."""
    evidence = Evidence(
        kind="inexact",
        message="the result is off by 5 eps; 2 are allowed (two roundings)",
        input="f([1, 2] float32[2])",
        expected="[1, 4] float32[2]",
        got="[1, 5] float32[2]",
        detail="at index [1]: got 5, expected 4\nand more",
        line=7,
        case="float32",
    )
    assert failure_text(CHECK, "losses.py", evidence) == (
        "f/small   [float32]\n"
        "  f of small numbers\n"
        "\n"
        "  losses.py:7 · the result is off by 5 eps; 2 are allowed (two roundings)\n"
        "\n"
        "      call      f([1, 2] float32[2])\n"
        "      expected  [1, 4] float32[2]\n"
        "      got       [1, 5] float32[2]\n"
        "      detail    at index [1]: got 5, expected 4\n"
        "                and more"
    )


def test_a_bare_failure() -> None:
    """What is not known leaves no empty lines and no labels."""
    text = failure_text(CHECK, "losses.py", Evidence(kind="wrong", message="no"))
    assert text == "f/small\n  f of small numbers\n\n  losses.py · no"


def test_an_empty_text_is_not_shown() -> None:
    """A label stands only before something."""
    text = failure_text(CHECK, "losses.py", Evidence(kind="wrong", message="no", got="3"))
    assert text.splitlines()[4:] == ["", "      got       3"]
