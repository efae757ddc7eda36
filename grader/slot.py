"""A grading slot: one process with the checks collected and one zygote, fed entries line by line.

``python -m grader.slot`` reads a :class:`grader.job.Job` and then entries as JSON lines on standard input; each line is
answered by one :class:`grader.job.Done` on standard output. It writes runs into RESULTS itself, so that results do
not pass through anybody's memory.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from grader import spec
from grader.diagnose import read_signatures
from grader.errors import EnvironmentRefused, GraderError
from grader.handle import Handle, LocalHandle, read_scenarios
from grader.intake import Entry, read
from grader.isolation import Zygote, adopt_strays
from grader.job import Done, Job, Task
from grader.model import WIRE_VERSION
from grader.reference import Reference, load_module
from grader.run import Course, run
from grader.session import Checks, with_checks
from grader.store import Results

__all__ = ["course_of", "grade_entries", "solution_of"]


def course_of(job: Job) -> Course:
    """Everything that is the same for all submissions of a job. Raises SpecError."""
    folder = Path(job.assignment)
    assignment = spec.load(folder)
    return Course(
        assignment=assignment,
        digests=spec.check_digests(assignment, job.seed_hash, WIRE_VERSION),
        seed_hash=job.seed_hash,
        scenarios=read_scenarios(folder),
        isolation=job.isolation,
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


def grade_entries(job: Job, entries: Iterable[Entry], done: BinaryIO) -> None:
    """Grade ``entries`` as they come, writing one Done line for each."""
    course = course_of(job)
    results = Results(Path(job.results))
    truth = Reference(load_module(Path(job.assignment) / "reference.py"), bytes.fromhex(job.seed))

    def say(answer: Done) -> None:
        done.write(msgspec.json.encode(answer) + b"\n")
        done.flush()

    def grade(entry: Entry, checks: Checks, zygote: Zygote) -> bool:
        """False: it had been graded before."""
        submission = read(entry, course.assignment)
        if not job.force and results.graded(submission, course.assignment, course.digests, job.device):
            return False
        run_id, journal = results.new_run(entry.student)
        try:
            journal.close(run(submission, run_id, course, checks, zygote, journal.add))
        except BaseException:
            journal.abandon()
            raise
        return True

    def body(checks: Checks) -> None:
        with Zygote(course.assignment.limits) as zygote:
            for entry in entries:
                try:
                    say(Done(entry.student, graded=grade(entry, checks, zygote)))
                except GraderError as error:
                    say(Done(entry.student, error=str(error), exit_code=error.exit_code))
                    if error.exit_code == EnvironmentRefused.exit_code:  # a full disk is full for the next one too
                        return

    with_checks(Path(job.assignment), course.assignment.hidden_checks, truth, body, solution_of(course))


def _entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    for line in lines:
        task = msgspec.json.decode(line, type=Task)
        yield Entry(task.student, Path(os.fsdecode(task.path)))


def main() -> None:
    """Serve one job from standard input."""
    source = sys.stdin.buffer
    done = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not lie among the answers
    job = msgspec.json.decode(source.readline(), type=Job)
    if sys.platform == "linux":
        adopt_strays()
    try:
        grade_entries(job, _entries(source), done)
    except GraderError as error:
        done.write(msgspec.json.encode(Done("", error=str(error), exit_code=error.exit_code)) + b"\n")
        done.close()


if __name__ == "__main__":
    main()
