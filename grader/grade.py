"""Grade a class: hand entries to slots, gather what they say, score what lies in RESULTS."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grader import spec
from grader.diagnose import read_signatures
from grader.errors import EnvironmentRefused, GraderError, SpecError
from grader.intake import Entry, entries
from grader.isolation import end_strays, require
from grader.job import Done, Job, Task
from grader.model import LOADS, RUN_SCHEMA, WIRE_VERSION, Assignment, Evidence, Outcome, Record, Run, Score, to_json
from grader.score import score
from grader.secret import course_secret, hash_of
from grader.store import Results, write_atomically

__all__ = ["GradeReport", "grade", "scores_document"]

SCHEMA = 1
START_S = 300.0  # for what has no limit of its own: imports, references, replacing a zygote
ATTEMPTS = 2  # an entry that ends two slots is given up; the others go on


class GradeReport(msgspec.Struct, frozen=True):
    """What a ``grade`` came to. ``errors`` are about the grader; the students concerned have no new verdict."""

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
    signatures = read_signatures(folder)
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
    digests = spec.check_digests(assignment, job.seed_hash, WIRE_VERSION)

    def give_up(student: str, sentence: str) -> None:
        """A run without a verdict, so that the student is in the scores and nobody takes silence for a zero."""
        run_id, journal = results.new_run(student)
        evidence = Evidence(kind="grader", message=sentence)
        records = [Record(c.id, digests[c.id], Outcome.GRADER_ERROR, 0.0, evidence) for c in assignment.hidden_checks]
        journal.close(
            Run(
                schema=RUN_SCHEMA, assignment=assignment.id, student=student, id=run_id, file="", submission="",
                seed_hash=job.seed_hash, device=job.device, isolation=isolation, versions={},
                started=datetime.now(UTC).isoformat(timespec="seconds"), seconds=0.0, records=tuple(records),
            )
        )  # fmt: skip

    slots = _Slots(job, found, _patience(assignment), give_up, progress)
    answers = slots.work(min(jobs, len(found)))
    everybody = results.everybody()
    scores = {student: score(runs, assignment, digests, signatures) for student, runs in everybody.items()}
    graded = [entry.student for entry in found if entry.student in everybody]
    report = GradeReport(
        assignment=assignment,
        scores=tuple(scores[student] for student in graded),
        notes=tuple((student, note) for student in graded for note in _notes(everybody[student][-1])),
        skipped=tuple(sorted(answer.student for answer in answers if not answer.graded and not answer.error)),
        errors=tuple((answer.student, answer.error) for answer in answers if answer.error),
        exit_code=max((answer.exit_code for answer in answers if answer.error), default=0),
    )
    of_all = msgspec.structs.replace(report, scores=tuple(scores.values()))
    write_atomically(out / "scores.json", scores_document(of_all))
    return report


def _patience(assignment: Assignment) -> float:
    limits = assignment.limits
    return START_S + LOADS * limits.load_s + len(assignment.exercises) * limits.exercise_s


def _notes(run: Run) -> list[str]:
    broken = [record.check for record in run.records if record.outcome is Outcome.GRADER_ERROR]
    told = f"grader error in {', '.join(broken)}: the points are pending, the reason stands in run {run.id}"
    return [run.problem] * bool(run.problem) + list(run.warnings) + [told] * bool(broken)


def scores_document(report: GradeReport) -> bytes:
    """The document of ``grade --json``: strict JSON, one final newline."""
    document = {"schema": SCHEMA, "assignment": report.assignment.id, "scores": report.scores}
    return to_json(document)


class _Slots:
    """Entries in a queue, a thread per slot that feeds a child process from it."""

    def __init__(
        self,
        job: Job,
        found: Sequence[Entry],
        patience: float,
        give_up: Callable[[str, str], None],
        progress: Callable[[int, int], None],
    ) -> None:
        self.job = job
        self.patience = patience  # seconds: no entry can take longer unless its slot was stopped
        self.give_up = give_up
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
            with self.lock:
                child = subprocess.Popen(
                    [sys.executable, "-m", "grader.slot"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for us; we end our children ourselves
                )
                self.children.add(child)
            with child:
                task = self._talk(child, task)
            with self.lock:
                self.children.discard(child)
                end_strays(keep={other.pid for other in self.children})
            if task is not None and not self.stop.is_set():
                task = self._again(*task, child.returncode)

    def _talk(self, child: subprocess.Popen[bytes], task: tuple[Entry, int] | None) -> tuple[Entry, int] | None:
        """Feed one slot until there is nothing left to do; the entry during which it ended, if it did."""
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(msgspec.json.encode(self.job) + b"\n")
            while task is not None:
                message = Task(task[0].student, os.fsencode(task[0].path))
                child.stdin.write(msgspec.json.encode(message) + b"\n")
                child.stdin.flush()
                ready, _, _ = select.select([child.stdout], [], [], self.patience)
                line = child.stdout.readline() if ready else b""
                if not line:
                    child.kill()  # it may have been stopped by what it graded
                    return task
                answer = msgspec.json.decode(line, type=Done)
                if not answer.student:  # the slot cannot work at all: neither can another one
                    self.stop.set()
                    self.fatal = answer
                    return None
                self._answer(answer)
                if answer.exit_code == EnvironmentRefused.exit_code:  # a full disk is full for all
                    self.stop.set()
                task = self._take()
            child.stdin.close()
        except BrokenPipeError:
            return task
        return None

    def _again(self, entry: Entry, attempt: int, status: int | None) -> tuple[Entry, int] | None:
        if attempt < ATTEMPTS:
            return entry, attempt + 1
        sentence = (
            f"grading `{entry.student}` ended the grading process twice (status {status}); its points are pending"
        )
        self.give_up(entry.student, sentence)
        self._answer(Done(entry.student, error=sentence, exit_code=3))
        return self._take()
