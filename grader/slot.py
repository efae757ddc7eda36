"""A grading slot: one process with the checks collected and one zygote, fed entries line by line.

``python -m grader.slot`` reads a :class:`grader.job.Job` and then entries as JSON lines on standard input; each line is
answered by one :class:`grader.job.Done` on standard output, once the run is closed. It writes runs into RESULTS itself,
so that results do not pass through anybody's memory.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from grader import orphans, spec
from grader.diagnose import read_signatures
from grader.errors import GraderError
from grader.handle import Handle, LocalHandle, read_scenarios
from grader.intake import Entry, read
from grader.isolation import Zygote
from grader.job import Done, Job, Task
from grader.model import WIRE_VERSION
from grader.reference import Reference, load_module
from grader.run import Course, run
from grader.session import Checks, with_checks
from grader.store import Results

__all__ = ["course_of", "grade_tasks", "solution_of"]


def course_of(job: Job) -> Course:
    """Everything that is the same for all submissions of a job. Raises SpecError."""
    folder = Path(job.assignment)
    assignment = spec.load(folder)
    return Course(
        assignment=assignment,
        digests=spec.check_digests(assignment, job.seed_hash, WIRE_VERSION),
        seed_hash=job.seed_hash,
        scenarios=read_scenarios(folder),
        device=job.device,
        probes=read_signatures(folder).probes,
    )


def solution_of(course: Course) -> Callable[[], Handle]:
    """The assignment's own solution, executed here when it is first asked for: it is ours."""

    @functools.cache
    def handle() -> Handle:
        source = Path(course.assignment.solution).read_text(encoding="utf-8-sig")
        return LocalHandle(source, course.assignment.file, course.scenarios, course.assignment.forbidden)

    return handle


def grade_tasks(job: Job, tasks: Iterable[Task], done: BinaryIO) -> None:
    """Carry out ``tasks`` as they come, writing one Done line for each; the first with an error is the last."""
    course = course_of(job)
    results = Results(Path(job.results))
    hidden = [Path(job.assignment).parent.parent, results.root]
    truth = Reference(load_module(Path(job.assignment) / "reference.py"), bytes.fromhex(job.seed))

    def say(answer: Done) -> None:
        done.write(msgspec.json.encode(answer) + b"\n")
        done.flush()

    def grade(task: Task, checks: Checks, zygote: Zygote) -> None:
        if results.closed(task.student, task.run):
            return
        submission = read(Entry(task.student, Path(os.fsdecode(task.path))), course.assignment)
        journal = results.open_run(task.student, task.run)
        try:
            journal.close(run(submission, task.run, course, checks, zygote, journal.add))
        except BaseException:
            journal.abandon()
            raise

    def body(checks: Checks) -> None:
        with Zygote(course.assignment.limits, job.isolation.tier, hidden) as zygote:
            for task in tasks:
                try:
                    grade(task, checks, zygote)
                    say(Done(task.student))
                except GraderError as error:
                    say(Done(task.student, error=str(error), exit_code=error.exit_code))
                    return  # a full disk is full for the next one too, and what else is broken here is not known

    with_checks(Path(job.assignment), course.assignment.hidden_checks, truth, body, solution_of(course))


def main() -> None:
    """Serve one job from standard input."""
    source = sys.stdin.buffer
    done = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not lie among the answers
    job = msgspec.json.decode(source.readline(), type=Job)
    if sys.platform == "linux":
        orphans.adopt()
    try:
        grade_tasks(job, (msgspec.json.decode(line, type=Task) for line in source), done)
    except GraderError as error:
        done.write(msgspec.json.encode(Done("", error=str(error), exit_code=error.exit_code)) + b"\n")
        done.close()


if __name__ == "__main__":
    main()
