"""One failure as a student reads it at home."""

from __future__ import annotations

import pytest

from grader.message import failure_text, outcome_word
from grader.model import Check, Evidence, MistakeFound, Outcome

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


LONG = MistakeFound(
    "log-of-softmax",
    "f",
    "The probability is rounded before its logarithm is taken: a probability below 1.2e-38 becomes 0 in float32, and"
    " its logarithm is −inf.",
)
SHORT = MistakeFound("mean", "f", "The mean was taken over all rows.")


def test_a_failure_with_its_mistake() -> None:
    """The sentence of the gallery stands below the evidence, in lines that fit a terminal."""
    evidence = Evidence(kind="inexact", message="the result is off", got="3", line=7)
    assert failure_text(CHECK, "losses.py", evidence, [LONG]) == (
        "f/small\n"
        "  f of small numbers\n"
        "\n"
        "  losses.py:7 · the result is off\n"
        "\n"
        "      got       3\n"
        "\n"
        "  why   The probability is rounded before its logarithm is taken: a probability\n"
        "        below 1.2e-38 becomes 0 in float32, and its logarithm is −inf."
    )


def test_a_failure_with_two_mistakes() -> None:
    """More than one thing is said to be so, and each has its item."""
    text = failure_text(CHECK, "losses.py", Evidence(kind="wrong", message="no"), (SHORT, LONG))
    assert text == (
        "f/small\n"
        "  f of small numbers\n"
        "\n"
        "  losses.py · no\n"
        "\n"
        "  why   more than one thing goes wrong here:\n"
        "        - The mean was taken over all rows.\n"
        "        - The probability is rounded before its logarithm is taken: a\n"
        "          probability below 1.2e-38 becomes 0 in float32, and its logarithm is\n"
        "          −inf."
    )


def test_lines_of_sentences_fit_a_terminal() -> None:
    """Eighty columns, as far as words go, and all of them; no word is lost."""
    for width, rows in ((36, 1), (37, 2)):  # 8 columns of indentation, 35 letters, a space
        full = MistakeFound("x", "f", f"{'a' * 35} {'b' * width}")
        text = failure_text(CHECK, "losses.py", Evidence(kind="wrong", message="no"), (full,))
        assert len(text.splitlines()) == 5 + rows

    sentence = MistakeFound("x", "f", " ".join(f"{n}-word" for n in range(60)))
    text = failure_text(CHECK, "losses.py", Evidence(kind="wrong", message="no"), (sentence,))

    lines = text.splitlines()[5:]
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines).removeprefix("why   ") == sentence.message
