"""What ``grader verify`` found out about an assignment, as a record, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from grader.model import Signatures, to_json

__all__ = ["Judged", "Verdict", "verdict_document", "verdict_text"]


class Judged(msgspec.Struct, frozen=True):
    """One file of the gallery, or a variation of it, as it was graded."""

    file: str
    id: str
    exercise: str
    variation: str
    not_passed: tuple[str, ...]
    named: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True):
    """What ``verify`` found out about one assignment."""

    assignment: str
    points: float
    bonus: float
    pending: float
    checks: dict[str, int]  # hidden check that could run here → how many mistakes it catches
    mistakes: tuple[Judged, ...]
    variants: tuple[Judged, ...]
    problems: tuple[str, ...]
    gaps: tuple[str, ...]
    signatures: Signatures
    drift: bool  # what is committed is something else

    def holds(self, *, strict: bool) -> bool:
        """No problem, and, if ``strict``, no gap either, and signatures.json up to date."""
        return not self.problems and not (strict and (self.gaps or self.drift))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def verdict_text(verdict: Verdict, *, strict: bool) -> str:
    """A few lines: what holds, then everything that does not."""
    own = [one for one in verdict.mistakes if not one.variation]
    varied, named = len(verdict.mistakes) - len(own), sum(one.named == (one.id,) for one in verdict.mistakes)
    catching = sum(map(bool, verdict.checks.values()))
    points = f"{verdict.points:g} points"
    points += f" and {verdict.bonus:g} of bonus" * bool(verdict.bonus)
    points += f", {verdict.pending:g} pending" * bool(verdict.pending)
    others = f", and {varied} with other constants" * bool(varied)
    lines = [
        verdict.assignment,
        f"  solution   {points}",
        f"  checks     {_count(len(verdict.checks), 'hidden check')}; {catching} of them catch a mistake",
        f"  mistakes   {len(own)}{others}; {named} of {len(verdict.mistakes)} named by their answers",
        f"  variants   {len(verdict.variants)}",
    ]
    lines += [f"  ✗ {problem}" for problem in verdict.problems]
    lines += [f"  {'✗' if strict else '!'} {gap}" for gap in verdict.gaps]
    if verdict.drift and strict:
        lines.append("  ✗ signatures.json is out of date — run `grader verify` and commit what it writes")
    elif verdict.drift and not verdict.problems:
        lines.append("  signatures.json has been made anew: commit it, and release again")
    if verdict.holds(strict=strict):
        lines.append("  ✓ holds" + ", strictly" * strict)
    return "\n".join(lines)


def verdict_document(verdicts: Iterable[tuple[Verdict, float]], *, strict: bool) -> bytes:
    """The document of ``verify --json``: strict JSON, one final newline. With each verdict, its seconds."""
    told = [
        {
            "assignment": verdict.assignment,
            "holds": verdict.holds(strict=strict),
            "points": verdict.points,
            "bonus": verdict.bonus,
            "pending_points": verdict.pending,
            "problems": verdict.problems,
            "gaps": verdict.gaps,
            "checks": [{"id": id_, "caught": count} for id_, count in verdict.checks.items()],
            "mistakes": verdict.mistakes,
            "variants": verdict.variants,
            "signatures": "out of date" if verdict.drift else "up to date",
            "seconds": seconds,
        }
        for verdict, seconds in verdicts
    ]
    document = {"schema": 1, "strict": strict, "assignments": told}
    return to_json(document)
