"""One failure in words: what, where, evidence, why. The same text from ``grader check`` and from plain pytest."""

from __future__ import annotations

from grader.model import Check, Evidence, Outcome

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


def outcome_word(outcome: Outcome) -> str:
    """The outcome as a person says it."""
    return WORDS[outcome]


def failure_text(check: Check, file: str, evidence: Evidence) -> str:
    """Several lines for the student's own terminal: for public checks only, since it shows inputs and answers."""
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
    return "\n".join(lines)
