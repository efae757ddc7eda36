"""One failure in words: what, where, evidence, why. The same text from ``grader check`` and from plain pytest."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from grader.model import Check, Evidence, MistakeFound, Outcome

__all__ = ["failure_text", "outcome_word"]

WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERRORED: "raised",
    Outcome.TIMED_OUT: "timed out",
    Outcome.SKIPPED: "not tried",
    Outcome.NOT_RUN: "needs a GPU",
    Outcome.GRADER_ERROR: "grader error",
}


WIDTH = 80


def outcome_word(outcome: Outcome) -> str:
    """The outcome as a person says it."""
    return WORDS[outcome]


def failure_text(check: Check, file: str, evidence: Evidence, mistakes: Sequence[MistakeFound] = ()) -> str:
    """Several lines for the student's own terminal: for public checks only, since it shows inputs and answers.

    ``mistakes``: what the submission's answers are known for.
    """
    where = f"{file}:{evidence.line}" if evidence.line else file
    case = f"   [{evidence.case}]" if evidence.case else ""
    lines = [f"{check.id}{case}", f"  {check.title}", "", f"  {where} · {evidence.message}"]
    shown = [
        ("call", evidence.input),
        ("expected", evidence.expected),
        ("got", evidence.got),
        ("detail", evidence.detail),
    ]
    if any(text for _, text in shown):
        lines.append("")
    for name, text in shown:
        if text:
            first, *rest = text.splitlines()
            lines += [f"      {name:<9} {first}", *(f"                {line}" for line in rest)]
    if mistakes:
        lines.append("")
    if len(mistakes) > 1:
        lines.append("  why   more than one thing goes wrong here:")
    for mistake in mistakes:
        lines += textwrap.wrap(
            mistake.message,
            WIDTH,
            initial_indent="  why   " if len(mistakes) == 1 else "        - ",
            subsequent_indent="        " if len(mistakes) == 1 else "          ",
        )
    return "\n".join(lines)
