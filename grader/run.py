"""Run the checks of an assignment against one submission: two passes, so that no earlier call costs a point.

Pass 1 runs every check in one worker. Checks that did not pass in a worker that had served another check before
are run again in reverse order in one fresh worker. The same outcome twice counts; a different one is settled by
that check alone in a worker of its own, and marked ``unstable``. Once anything is unstable, every check that passed has
to pass alone as well.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest
import torch

from grader import __version__
from grader.handle import exception_word
from grader.isolation import Zygote
from grader.model import (
    RUN_SCHEMA,
    Answer,
    Assignment,
    Check,
    Evidence,
    Outcome,
    Probe,
    Record,
    Run,
    Submission,
)  # fmt: skip
from grader.probe import UNWRITTEN, ask
from grader.remote import RemoteHandle
from grader.session import Checks, Observation

__all__ = ["Course", "run", "versions"]

LOST = {Outcome.FAILED, Outcome.ERRORED, Outcome.TIMED_OUT}


class Course(msgspec.Struct, frozen=True):
    """What is the same for every submission of one sitting."""

    assignment: Assignment
    digests: dict[str, str]  # check id -> digest of everything that decides its outcome
    seed_hash: str
    scenarios: str | None
    device: str = "cpu"
    probes: tuple[Probe, ...] = ()


def versions() -> dict[str, str]:
    """What a verdict may depend on."""
    return {
        "grader": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "pytest": pytest.__version__,
        "platform": platform.platform(),
    }


def run(
    submission: Submission,
    run_id: str,
    course: Course,
    checks: Checks,
    zygote: Zygote,
    journal: Callable[[Record], None] = lambda record: None,
) -> Run:
    """Observe ``submission``. Every settled record goes to ``journal`` as soon as it is known."""
    started, clock = datetime.now(UTC), time.perf_counter()
    output, warnings = "", submission.warnings
    answers: dict[str, Answer] = {}
    if submission.source is None or submission.problem:
        evidence = Evidence(kind="unreadable", message=submission.problem)
        seen = Observation(Outcome.ERRORED, 0.0, evidence)
        records = [_record(check, seen, False, course, journal) for check in course.assignment.hidden_checks]
    else:
        limits = course.assignment.limits
        file, forbidden = course.assignment.file, course.assignment.forbidden
        handle = RemoteHandle(zygote, submission.source, file, limits, course.scenarios, forbidden)
        try:
            records = _Sitting(course, checks, handle, journal).records()
            handle.fresh()  # what the checks have left behind must not speak for the submission
            answers = ask(handle, _questions(course, records))
        finally:
            handle.close()
        output = handle.output.text()
        warnings += tuple(f"line {loss['line']} ({loss['name']}) was left out when loading" for loss in handle.losses)
        warnings += tuple(
            f"line {fault['line']} raised {exception_word(fault.get('builtins'))} when loading"
            for fault in handle.faults
        )
    return Run(
        schema=RUN_SCHEMA,
        assignment=course.assignment.id,
        student=submission.student,
        id=run_id,
        file=submission.file,
        submission=submission.digest,
        seed_hash=course.seed_hash,
        device=course.device,
        isolation=zygote.isolation,
        versions=versions(),
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - clock, 4),
        records=tuple(records),
        warnings=warnings,
        problem=submission.problem,
        output=output,
        answers=answers,
    )


def _questions(course: Course, records: list[Record]) -> list[Probe]:
    """The probes of the exercises that lost core points by what was computed there."""
    core = {check.id: check.exercise for check in course.assignment.hidden_checks if not check.stretch}
    lost = {
        core[record.check]
        for record in records
        if record.check in core
        and record.outcome in LOST
        and not (record.evidence is not None and record.evidence.kind in UNWRITTEN)
    }
    return [probe for probe in course.probes if probe.exercise in lost]


def _record(
    check: Check, seen: Observation, unstable: bool, course: Course, journal: Callable[[Record], None]
) -> Record:
    record = Record(
        check=check.id,
        digest=course.digests[check.id],
        outcome=seen.outcome,
        seconds=round(seen.seconds, 6),
        evidence=seen.evidence,
        cases=seen.cases,
        unstable=unstable,
        device=check.device,
    )
    journal(record)
    return record


class _Sitting:
    """The passes over one submission."""

    def __init__(self, course: Course, checks: Checks, handle: RemoteHandle, journal: Callable[[Record], None]) -> None:
        self.course = course
        self.checks = checks
        self.handle = handle
        self.journal = journal
        self.settled: dict[str, Record] = {}

    def records(self) -> list[Record]:
        """All records, in the assignment's order."""
        todo = list(self.course.assignment.hidden_checks)
        while True:
            todo = self.passes(todo)
            # A needed check that failed only because of an earlier call has passed in pass 2: its followers now run.
            if not any(self.ready(check) for check in todo):
                break
            self.fresh()
        for check in todo:
            self.settle(check, Observation(Outcome.SKIPPED, 0.0))
        if any(record.unstable for record in self.settled.values()):
            self.confirm()
        self.withhold()
        return [self.settled[check.id] for check in self.course.assignment.hidden_checks]

    def fresh(self) -> None:
        """What follows begins anew: another worker, no fixture left."""
        self.handle.fresh()
        self.checks.rest()

    def confirm(self) -> None:
        """Something depends on what was called before: what passed must pass again alone, in a worker of its own.

        Otherwise two wrong solutions in one file, chosen by a worker's first call, would earn what either of them
        earns: one in pass 1, the other in pass 2.
        """
        for check in self.course.assignment.hidden_checks:
            if self.settled[check.id].outcome is Outcome.PASSED:
                self.fresh()
                again = self.checks.play(check, self.handle)
                if again.outcome is not Outcome.PASSED:
                    self.settle(check, again, unstable=True)

    def withhold(self) -> None:
        """A forbidden call, in whichever check it was seen, costs every check of its exercise."""
        checks = self.course.assignment.hidden_checks
        used: dict[str, Evidence] = {}
        for check in checks:
            evidence = self.settled[check.id].evidence
            if evidence is not None and evidence.kind == "forbidden":
                used.setdefault(
                    check.exercise, Evidence(kind="forbidden", message=evidence.message, line=evidence.line)
                )
        for check in checks:
            record = self.settled[check.id]
            if check.exercise in used and not (record.evidence is not None and record.evidence.kind == "forbidden"):
                self.settle(check, Observation(Outcome.FAILED, record.seconds, used[check.exercise]))

    def ready(self, check: Check) -> bool:
        """Everything that ``check`` needs has passed."""
        return all(need in self.settled and self.settled[need].outcome is Outcome.PASSED for need in check.needs)

    def settle(self, check: Check, seen: Observation, unstable: bool = False) -> None:
        self.settled[check.id] = _record(check, seen, unstable, self.course, self.journal)

    def passes(self, todo: list[Check]) -> list[Check]:
        """Both passes over ``todo``; the checks that were skipped because of what they need."""
        doubtful: list[tuple[Check, Observation]] = []
        skipped: list[Check] = []
        for check in todo:
            if not self.ready(check):
                skipped.append(check)
                continue
            if check.device == "cuda" and self.course.device != "cuda":
                self.settle(check, Observation(Outcome.NOT_RUN, 0.0))
                continue
            first_served = not self.handle.served
            seen = self.checks.play(check, self.handle)
            if seen.kind == "memory":
                self.handle.fresh()  # what it hoards would starve the checks after it
            if seen.outcome is Outcome.PASSED or first_served:
                self.settle(check, seen)
            else:
                doubtful.append((check, seen))
        if doubtful:
            self.fresh()
        for check, seen in reversed(doubtful):
            first_served = not self.handle.served
            again = self.checks.play(check, self.handle)
            if again.outcome is seen.outcome:
                self.settle(check, seen)
            elif first_served:
                self.settle(check, again, unstable=True)
            else:
                self.fresh()
                self.settle(check, self.checks.play(check, self.handle), unstable=True)
                self.fresh()
        return skipped
