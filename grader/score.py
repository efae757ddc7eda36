"""Runs to points. Pure: no clock, no files, no torch; the same runs and assignment always give the same score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from grader.diagnose import diagnose, no_signatures
from grader.model import Assignment, Check, CheckScore, Outcome, Record, Run, Score, Signatures
from grader.store import run_path

__all__ = ["score"]

PENDING = frozenset({Outcome.NOT_RUN, Outcome.GRADER_ERROR})


def score(
    runs: Iterable[Run], assignment: Assignment, digests: Mapping[str, str], signatures: Signatures | None = None
) -> Score:
    """What ``runs``, all of one student and oldest first, earn.

    For each check the newest record counts that says something (not ``not_run``) and carries the check's current
    digest. A check without one is pending, as is one with a ``grader_error`` and what was skipped because of one:
    neither earned nor lost. The maximum is the assignment's, whatever ran. Points are summed exactly and are finite,
    within [0, maximum]. Mistakes are named from the newest run's answers, by ``signatures``.
    """
    runs = list(runs)
    newest: dict[str, Record] = {}
    for run in runs:
        for record in run.records:
            if digests.get(record.check) == record.digest and (
                record.outcome is not Outcome.NOT_RUN or record.check not in newest
            ):
                newest[record.check] = record
    lines = tuple(_line(check, newest.get(check.id)) for check in assignment.hidden_checks)
    pending = {line.id for line in lines if line.outcome in PENDING}
    for check in assignment.hidden_checks:  # in the order of what they need
        if check.id in newest and newest[check.id].outcome is Outcome.SKIPPED and pending & set(check.needs):
            pending.add(check.id)  # it was not tried because of something that is not the student's fault
    core = [line for line in lines if not line.stretch]
    lost = {line.exercise for line in core if line.points < line.max_points}
    return Score(
        student=runs[-1].student,
        points=_sum(line.points for line in core),
        max_points=_sum(line.max_points for line in core),
        bonus=_sum(line.points for line in lines if line.stretch),
        pending_points=_sum(line.max_points for line in core if line.id in pending),
        run=run_path(runs[-1].student, runs[-1].id),
        checks=lines,
        mistakes=tuple(
            diagnose(
                runs[-1].answers,
                signatures or no_signatures(),
                [exercise.id for exercise in assignment.exercises if exercise.id in lost],
            )
        ),
    )


def _exact(points: float) -> Fraction:
    """The decimal that was written, not its binary neighbour: 0.1 + 0.2 is 0.3 here."""
    return Fraction(str(points))


def _sum(points: Iterable[float]) -> float:
    return float(sum(map(_exact, points), Fraction(0)))


def _line(check: Check, record: Record | None) -> CheckScore:
    outcome = record.outcome if record else Outcome.NOT_RUN
    earned = Fraction(0)
    if outcome is Outcome.PASSED:
        earned = _exact(check.points)
    elif record and check.split and record.cases and outcome not in PENDING:
        passed = sum(case.outcome is Outcome.PASSED for case in record.cases)
        earned = _exact(check.points) * passed / len(record.cases)
    return CheckScore(
        id=check.id,
        exercise=check.exercise,
        outcome=outcome,
        points=float(earned),
        max_points=check.points,
        stretch=check.stretch,
        message=_message(check, record),
    )


def _message(check: Check, record: Record | None) -> str:
    """For the student: the check's title and what was wrong, never an input or an expected value."""
    if record is None:
        return f"{check.title}: not graded yet with this version of the check"
    match record.outcome:
        case Outcome.PASSED:
            return ""
        case Outcome.NOT_RUN:
            return f"{check.title}: needs a GPU; these points are pending"
        case Outcome.SKIPPED:
            return f"{check.title}: not tried, because it builds on {' and '.join(check.needs)}"
    return f"{check.title}: {record.evidence.message if record.evidence else record.outcome}"
