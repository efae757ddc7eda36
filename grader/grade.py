"""Grade a class: hand entries to slots, gather what they say, score what lies in RESULTS."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grader import spec
from grader.errors import EnvironmentRefused, GraderError, SpecError
from grader.intake import Entry, entries
from grader.isolation import require
from grader.job import Done, Job, Task
from grader.model import WIRE_VERSION, Assignment, Run, Score
from grader.score import score
from grader.secret import course_secret, hash_of
from grader.store import Results, write_atomically

__all__ = ["GradeReport", "grade", "scores_document"]

SCHEMA = 1
ATTEMPTS = 2  # an entry that ends two slots is given up; the others go on


class GradeReport(msgspec.Struct, frozen=True):
    """What a ``grade`` came to. ``errors`` are about the grader; the students concerned have no new run."""

    assignment: Assignment
    scores: tuple[Score, ...]
    notes: tuple[tuple[str, str], ...]  # student, sentence: why a file could not be used, or what was made of it
    skipped: tuple[str, ...]  # graded before, with the same digests
    errors: tuple[tuple[str, str], ...]  # student, sentence
    exit_code: int


def grade(  # noqa: PLR0913 - one per option of the command
    course: Path,
    assignment_id: str,
    paths: Sequence[Path],
    out: Path,
    *,
    jobs: int,
    tier: str,
    accept_unsandboxed: bool,
    force: bool = False,
    notice: Callable[[str], None] = lambda text: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GradeReport:
    """Grade the entries found at ``paths`` into the folder ``out``, ``jobs`` at a time.

    An entry whose newest run is of the same bytes and the same checks is not run again unless ``force``. Raises
    SpecError, UsageError or EnvironmentRefused before anything runs.
    """
    folder = spec.find_assignment(course, assignment_id)
    assignment = spec.load(folder)
    isolation = require(tier, accept_unsandboxed=accept_unsandboxed)
    found = entries(list(paths), assignment)
    secret, made = course_secret(course)
    if made:
        notice(f"made {course / '.grader' / 'secret'}: it seeds the hidden inputs; keep it, and keep it out of git")
    results = Results.create(out, assignment.id, hash_of(secret), force=force)
    job = Job(
        assignment=str(folder),
        results=str(out.resolve()),
        seed=secret.hex(),
        seed_hash=hash_of(secret),
        isolation=isolation,
        force=force,
    )
    answers = _Slots(job, found, progress).work(min(jobs, len(found)))
    digests = spec.check_digests(assignment, job.seed_hash, WIRE_VERSION)
    graded = [(entry.student, _runs(results, entry.student)) for entry in found]
    report = GradeReport(
        assignment=assignment,
        scores=tuple(score(runs, assignment, digests) for _, runs in graded if runs),
        notes=tuple((student, note) for student, runs in graded if runs for note in _notes(runs[-1])),
        skipped=tuple(sorted(answer.student for answer in answers if not answer.graded and not answer.error)),
        errors=tuple((answer.student, answer.error) for answer in answers if answer.error),
        exit_code=max((answer.exit_code for answer in answers if answer.error), default=0),
    )
    write_atomically(out / "scores.json", scores_document(report))
    return report


def _runs(results: Results, student: str) -> list[Run]:
    try:
        return results.runs(student)
    except GraderError:  # a damaged file, of which this student's slot has told already; the others have their scores
        return []


def _notes(run: Run) -> list[str]:
    return [run.problem] * bool(run.problem) + list(run.warnings)


def scores_document(report: GradeReport) -> bytes:
    """The document of ``grade --json``: strict JSON, one final newline."""
    document = {"schema": SCHEMA, "assignment": report.assignment.id, "scores": report.scores}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


class _Slots:
    """Entries in a queue, a thread per slot that feeds a child process from it."""

    def __init__(self, job: Job, found: Sequence[Entry], progress: Callable[[int, int], None]) -> None:
        self.job = job
        self.progress = progress
        self.total = len(found)
        self.answers: list[Done] = []
        self.lock = threading.Lock()
        self.waiting: queue.SimpleQueue[tuple[Entry, int]] = queue.SimpleQueue()
        self.stop = threading.Event()
        self.fatal: Done | None = None
        self.children: set[subprocess.Popen[bytes]] = set()
        for entry in found:
            self.waiting.put((entry, 1))

    def work(self, slots: int) -> list[Done]:
        """All answers, in the order of students. Raises GraderError when no slot can work at all."""
        threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(slots)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            self.stop.set()
            for child in list(self.children):
                child.kill()
            raise
        if self.fatal is not None:
            if self.fatal.exit_code == SpecError.exit_code:
                raise SpecError([self.fatal.error])
            if self.fatal.exit_code == EnvironmentRefused.exit_code:
                raise EnvironmentRefused(self.fatal.error)
            raise GraderError(self.fatal.error)
        return sorted(self.answers, key=lambda answer: answer.student)

    def _take(self) -> tuple[Entry, int] | None:
        if self.stop.is_set():
            return None
        try:
            return self.waiting.get_nowait()
        except queue.Empty:
            return None

    def _answer(self, answer: Done) -> None:
        with self.lock:
            self.answers.append(answer)
            self.progress(len(self.answers), self.total)

    def _feed(self) -> None:
        task = self._take()
        while task is not None:
            with subprocess.Popen(
                [sys.executable, "-m", "grader.slot"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as child:
                assert child.stdin is not None
                assert child.stdout is not None
                self.children.add(child)
                line = b""
                try:
                    child.stdin.write(msgspec.json.encode(self.job) + b"\n")
                    while task is not None:
                        message = Task(task[0].student, os.fsencode(task[0].path))
                        child.stdin.write(msgspec.json.encode(message) + b"\n")
                        child.stdin.flush()
                        line = child.stdout.readline()
                        if not line:
                            break
                        answer = msgspec.json.decode(line, type=Done)
                        if not answer.student:  # the slot cannot work at all: neither can another one
                            self.stop.set()
                            self.fatal = answer
                            return
                        self._answer(answer)
                        if answer.exit_code == EnvironmentRefused.exit_code:  # a full disk is full for all
                            self.stop.set()
                        task = self._take()
                    child.stdin.close()
                except BrokenPipeError:
                    pass
                finally:
                    self.children.discard(child)
            if task is not None and not self.stop.is_set():
                task = self._again(*task, child.returncode)

    def _again(self, entry: Entry, attempt: int, status: int | None) -> tuple[Entry, int] | None:
        if attempt < ATTEMPTS:
            return entry, attempt + 1
        sentence = f"grading `{entry.student}` ended the grading process twice (status {status}); it has no result"
        self._answer(Done(entry.student, error=sentence, exit_code=3))
        return self._take()
