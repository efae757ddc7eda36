"""Grade a class: hand entries to slots, gather what they say, score what lies in RESULTS."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from grader import orphans, spec
from grader.diagnose import read_signatures
from grader.errors import EnvironmentRefused, GraderError, SpecError
from grader.intake import Entry, entries, read
from grader.job import Done, Job, Task
from grader.model import LOADS, RUN_SCHEMA, WIRE_VERSION, Assignment, Evidence, Outcome, Record, Run, Score, to_json
from grader.score import score
from grader.secret import course_secret, hash_of
from grader.store import PRIVATE, Results, write_atomically
from grader.tiers import require

__all__ = ["GradeReport", "grade", "scores_document"]

SCHEMA = 1
# What a slot runs. It holds the lock of RESULTS, so it is bound to our life before it imports torch, which takes
# seconds; and if we have died before that, its parent is somebody else by now.
SLOT = """\
import os, sys
from grader import orphans
orphans.die_with_parent()
if os.getppid() == int(sys.argv[1]):
    from grader import slot
    slot.main()
"""
START_S = 300.0  # for what has no limit of its own: imports, references, replacing a zygote
ATTEMPTS = 2  # an entry that ends two slots is given up; the others go on


class GradeReport(msgspec.Struct, frozen=True):
    """What a ``grade`` came to. ``errors`` are about the grader; the students concerned have no new verdict."""

    assignment: Assignment
    scores: tuple[Score, ...]
    notes: tuple[tuple[str, str], ...]  # student, sentence: why a file could not be used, or what was made of it
    skipped: tuple[str, ...]  # graded before, with the same digests
    ungraded: tuple[str, ...]  # no run of theirs is closed: neither a zero nor anything else
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

    An entry whose newest run is of the same bytes and the same checks is not run again unless ``force``, so this goes
    on where an earlier one was interrupted, by whatever. Raises SpecError, UsageError or EnvironmentRefused before
    anything runs, the last also where another `grade` is at work in ``out``.
    """
    folder = spec.find_assignment(course, assignment_id)
    assignment = spec.load(folder)
    signatures = read_signatures(folder)
    isolation = require(tier, accept_unsandboxed=accept_unsandboxed)
    found = entries(list(paths), assignment)
    secret, made = course_secret(course)
    if made:
        notice(f"made {course / '.grader' / 'secret'}: it seeds the hidden inputs; keep it, and keep it out of git")
    seed_hash = hash_of(secret)
    with Results.claim(out, assignment.id, seed_hash, force=force) as results:
        digests = spec.check_digests(assignment, seed_hash, WIRE_VERSION)
        job = Job(str(folder), str(out.resolve()), secret.hex(), seed_hash, isolation)
        todo, skipped, answers = [], [], []
        for entry in found:
            try:
                if _graded(entry, results, assignment, digests, job) and not force:
                    skipped.append(entry.student)
                else:
                    todo.append(Task(entry.student, os.fsencode(entry.path), results.next_id(entry.student)))
            except GraderError as error:  # a damaged run, which is not to be covered by a new one
                answers.append(Done(entry.student, error=str(error), exit_code=error.exit_code))
        if todo:
            give_up = functools.partial(_give_up, results, assignment, digests, job)
            answers += _Slots(job, todo, results.lock, _patience(assignment), give_up, progress).work(jobs)
        everybody = results.everybody()
        scores = {student: score(runs, assignment, digests, signatures) for student, runs in everybody.items()}
        graded = [entry.student for entry in found if entry.student in everybody]
        errors = sorted((answer.student, answer.error) for answer in answers if answer.error)
        report = GradeReport(
            assignment=assignment,
            scores=tuple(scores[student] for student in graded),
            notes=tuple((student, note) for student in graded for note in _notes(everybody[student][-1])),
            skipped=tuple(sorted(skipped)),
            ungraded=tuple(sorted(entry.student for entry in found if entry.student not in everybody)),
            errors=tuple(errors),
            exit_code=max((answer.exit_code for answer in answers), default=0),
        )
        of_all = msgspec.structs.replace(report, scores=tuple(scores.values()))
        write_atomically(out / "scores.json", scores_document(of_all), PRIVATE)
    return report


def _graded(entry: Entry, results: Results, assignment: Assignment, digests: Mapping[str, str], job: Job) -> bool:
    if not results.runs(entry.student):  # not worth reading what was handed in
        return False
    return results.graded(read(entry, assignment), assignment, digests, job.device, job.isolation.tier)


def _give_up(
    results: Results, assignment: Assignment, digests: Mapping[str, str], job: Job, task: Task, why: str
) -> bool:
    """A run without a verdict, so that the student is in the scores and nobody takes silence for a zero.

    False where there is a verdict: the slot had ended between closing the run and saying so.
    """
    if results.closed(task.student, task.run):
        return False
    evidence = Evidence(kind="grader", message=why)
    records = [Record(c.id, digests[c.id], Outcome.GRADER_ERROR, 0.0, evidence) for c in assignment.hidden_checks]
    results.open_run(task.student, task.run).close(
        Run(
            schema=RUN_SCHEMA, assignment=assignment.id, student=task.student, id=task.run, file="", submission="",
            seed_hash=job.seed_hash, device=job.device, isolation=job.isolation, versions={},
            started=datetime.now(UTC).isoformat(timespec="seconds"), seconds=0.0, records=tuple(records),
        )
    )  # fmt: skip
    return True


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


class _Try(msgspec.Struct, frozen=True):
    """A task, how often it has been tried, and what became of the try before."""

    task: Task
    attempt: int = 1
    why: str = ""


class _Slots:
    """Tasks in a queue, a thread per slot that feeds a child process from it."""

    def __init__(
        self,
        job: Job,
        todo: Sequence[Task],
        lock: int,
        patience: float,
        give_up: Callable[[Task, str], bool],
        progress: Callable[[int, int], None],
    ) -> None:
        self.job = job
        self.results_lock = lock
        self.patience = patience  # seconds: no entry can take longer unless its slot was stopped
        self.give_up = give_up
        self.progress = progress
        self.total = len(todo)
        self.answers: list[Done] = []
        self.lock = threading.Lock()
        self.waiting: queue.SimpleQueue[_Try] = queue.SimpleQueue()
        self.stop = threading.Event()
        self.fatal: Done | None = None
        self.broken: BaseException | None = None
        self.children: set[subprocess.Popen[bytes]] = set()
        for task in todo:
            self.waiting.put(_Try(task))

    def work(self, slots: int) -> list[Done]:
        """All answers, as they came. Raises GraderError when no slot can work at all."""
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(min(slots, self.total))]
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
        if self.broken is not None:
            raise self.broken
        if self.fatal is not None:
            if self.fatal.exit_code == SpecError.exit_code:
                raise SpecError([self.fatal.error])
            if self.fatal.exit_code == EnvironmentRefused.exit_code:
                raise EnvironmentRefused(self.fatal.error)
            raise GraderError(self.fatal.error)
        return self.answers

    def _take(self) -> _Try | None:
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
        if answer.exit_code == EnvironmentRefused.exit_code:  # a full disk is full for all
            self.stop.set()

    def _serve(self) -> None:
        try:
            self._feed()
        except BaseException as error:  # noqa: BLE001 - raised in `work`: a thread that ends in silence loses entries
            self.broken = error
            self.stop.set()

    def _feed(self) -> None:
        """One slot after the other. A slot lives no longer than the thread that started it: the kernel sees to that."""
        next_ = self._take()
        while next_ is not None:
            with self.lock:
                child = subprocess.Popen(
                    [sys.executable, "-c", SLOT, str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    pass_fds=(self.results_lock,),  # RESULTS stays ours until the last who writes there is dead
                    start_new_session=True,  # Ctrl-C is for us; we end our children ourselves
                )
                self.children.add(child)
            with child:
                lost = self._talk(child, next_)
            with self.lock:
                self.children.discard(child)
                orphans.end(keep={other.pid for other in self.children})
            next_ = self._again(lost, child.returncode) if lost is not None and not self.stop.is_set() else None

    def _talk(self, child: subprocess.Popen[bytes], next_: _Try | None) -> _Try | None:
        """Feed one slot until there is nothing left to do; the task at which it ended or failed, if it did."""
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(msgspec.json.encode(self.job) + b"\n")
            while next_ is not None:
                child.stdin.write(msgspec.json.encode(next_.task) + b"\n")
                child.stdin.flush()
                answer = self._hear(child.stdout)
                if answer is None or answer.student not in ("", next_.task.student):
                    child.kill()  # it may have been stopped by what it graded
                    return next_
                if not answer.student:  # the slot cannot work at all: neither can another one
                    self.stop.set()
                    self.fatal = answer
                    return None
                if answer.exit_code == GraderError.exit_code:  # such as a zygote that was killed: perhaps by chance
                    return msgspec.structs.replace(next_, why=answer.error)
                self._answer(answer)
                next_ = self._take()
            child.stdin.close()
        except BrokenPipeError:
            return next_
        return None

    def _hear(self, source: IO[bytes]) -> Done | None:
        """The next answer; None if none comes, or no answer comes: without a sandbox, a submission can write here."""
        ready, _, _ = select.select([source], [], [], self.patience)
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.json.decode(source.readline() if ready else b"", type=Done)
        return None

    def _again(self, lost: _Try, status: int | None) -> _Try | None:
        if lost.attempt < ATTEMPTS:
            return _Try(lost.task, lost.attempt + 1)
        task = lost.task
        what = f"failed twice: {lost.why}" if lost.why else f"ended the grading process twice (status {status})"
        sentence = f"grading `{task.student}` {what}; its points are pending"
        try:
            given_up = self.give_up(task, sentence)
            self._answer(Done(task.student, error=sentence, exit_code=3) if given_up else Done(task.student))
        except GraderError as error:
            self._answer(Done(task.student, error=str(error), exit_code=error.exit_code))
        return self._take()
