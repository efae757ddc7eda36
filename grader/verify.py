"""The gate: prove an assignment before it is released.

Hard, whatever the assignment: the solution has full marks, the stub none, no answer that needs no thought passes a
check, the same file graded twice gives the same records, and what is released leaks nothing. The gallery, as far as
there is one: every mistake loses exactly the checks that it names and is named by its answers, every variant has full
marks and is named nothing. What is merely missing (a gallery, hints, a check that catches nothing) is a gap: told,
and an error with ``--strict``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from torch.nn import functional

from grader import release, spec
from grader.cheats import CHEATS, cheat
from grader.diagnose import SCHEMA, SIGNATURES, diagnose, differ, read_signatures
from grader.errors import SpecError
from grader.gallery import Entry, Variation, read_gallery
from grader.guard import operators
from grader.isolation import Zygote
from grader.job import Job
from grader.model import Answer, Outcome, Record, Run, Signature, Signatures, Submission, to_json
from grader.probe import ask, read_probes
from grader.reference import Reference, load_module
from grader.remote import RemoteHandle
from grader.run import Course, run
from grader.score import score
from grader.secret import course_secret, hash_of
from grader.session import Checks, with_checks
from grader.slot import course_of, solution_of
from grader.store import write_atomically
from grader.stubs import make_stub
from grader.tiers import require
from grader.verdict import Judged, Verdict

__all__ = ["seed_of", "verify", "write_signatures"]

FAILED = {Outcome.FAILED, Outcome.ERRORED, Outcome.TIMED_OUT}
SLIP = re.compile(r"raised (NameError|UnboundLocalError|AttributeError|ImportError|ModuleNotFoundError|SyntaxError)")
RUNGS = 3  # of a check's hints: a question, an idea, a pointer


def seed_of(course: Path) -> bytes:
    """The course's secret, if it has one already: then the very inputs are proved that the class will be graded on."""
    return course_secret(course)[0] if (course / ".grader" / "secret").exists() else b"verify"


def verify(folder: Path, seed: bytes, progress: Callable[[int, int], None] = lambda done, total: None) -> Verdict:
    """Prove the assignment in ``folder`` with hidden inputs drawn from ``seed``. Raises SpecError before anything runs.

    Needs Linux, as grading does; the files that are graded are the instructor's own, so no sandbox is asked for.
    """
    assignment = spec.load(folder)
    gallery = read_gallery(assignment)
    probes = read_probes(folder, assignment.exercises)
    isolation = require("process", accept_unsandboxed=True)
    job = Job(str(folder), results="", seed=seed.hex(), seed_hash=hash_of(seed), isolation=isolation)
    course = msgspec.structs.replace(course_of(job), probes=probes)
    truth = Reference(load_module(folder / "reference.py"), seed)
    trial = _Trial(course, gallery, progress)
    with_checks(folder, assignment.hidden_checks, truth, trial.run_all, solution_of(course))
    trial.release()
    return trial.verdict(read_signatures(folder))


def write_signatures(folder: Path, signatures: Signatures) -> None:
    """Put ``signatures`` beside the assignment."""
    write_atomically(folder / SIGNATURES, to_json(signatures, indent=1))


class _Trial:
    """Grades everything there is to an assignment, and collects what is wrong."""

    def __init__(self, course: Course, gallery: tuple[Entry, ...], progress: Callable[[int, int], None]) -> None:
        self.course = course
        self.gallery = gallery
        self.problems: list[str] = []
        self.gaps: list[str] = []
        self.graded: list[tuple[Entry, Variation, Run]] = []
        self.solution: Run | None = None
        self.right: dict[str, Answer] = {}
        self._progress = progress
        self._total = 3 + len(CHEATS) + sum(len(entry.variations) for entry in gallery)
        self._done = 0

    def run_all(self, checks: Checks) -> None:
        """Everything that has to be run, through one session and one zygote."""
        assignment = self.course.assignment
        for name in sorted({name for names in assignment.forbidden.values() for name in names}):
            if not operators((name,)) and not hasattr(functional, name):
                self.problems.append(f"assignment.toml: forbidden: the library has no {name!r}, so nothing forbids it")
        source = Path(assignment.solution).read_bytes()
        text = source.decode("utf-8-sig")
        with Zygote(assignment.limits, "process") as zygote:

            def graded(source: str, course: Course = self.course) -> Run:
                self._done += 1
                self._progress(self._done, self._total)
                submission = Submission(student="verify", file=assignment.file, source=source, digest="")
                return run(submission, "0001", course, checks, zygote)

            self.solution = graded(text)
            self._same(self.solution, graded(text))
            alone = self._alone()
            self._stub(graded(make_stub(source, assignment.file).decode("utf-8-sig"), alone))
            for name in CHEATS:
                self._cheat(name, graded(cheat(name, [exercise.id for exercise in assignment.exercises]), alone))

            def asked(source: str, exercises: Iterable[str]) -> dict[str, Answer]:
                """What is answered by a file that loses nothing, and so is not asked when it is graded."""
                handle = RemoteHandle(zygote, source, assignment.file, assignment.limits, self.course.scenarios)
                try:
                    return ask(handle, [probe for probe in self.course.probes if probe.exercise in exercises])
                finally:
                    handle.close()

            self.right = asked(text, [exercise.id for exercise in assignment.exercises])
            for entry in self.gallery:
                narrowed = self._narrowed(entry)
                for variation in entry.variations:
                    one = graded(variation.source, narrowed)
                    if entry.kind == "variant":
                        one = msgspec.structs.replace(one, answers=asked(variation.source, entry.exercises))
                    self.graded.append((entry, variation, one))

    def _alone(self) -> Course:
        """The course without needs: a check must tell by itself, and not hide behind one that was asked before."""
        assignment = self.course.assignment
        checks = tuple(msgspec.structs.replace(check, needs=()) for check in assignment.checks)
        return msgspec.structs.replace(self.course, assignment=msgspec.structs.replace(assignment, checks=checks))

    def _narrowed(self, entry: Entry) -> Course:
        """The course with the checks of the exercises that an entry defines."""
        assignment = self.course.assignment
        checks = tuple(check for check in assignment.checks if check.exercise in entry.exercises)
        return msgspec.structs.replace(self.course, assignment=msgspec.structs.replace(assignment, checks=checks))

    def _same(self, one: Run, two: Run) -> None:
        pairs = zip(one.records, two.records, strict=True)
        for first, second in pairs:
            if msgspec.structs.replace(first, seconds=0) != msgspec.structs.replace(second, seconds=0):
                self.problems.append(f"{first.check}: the solution was graded twice, with different results")
            if first.outcome not in (Outcome.PASSED, Outcome.NOT_RUN):
                self.problems.append(f"{first.check}: the solution does not pass: {_told(first)}")

    def _stub(self, one: Run) -> None:
        passed = [record.check for record in one.records if record.outcome is Outcome.PASSED]
        self.problems += [f"{check}: the empty stub passes — make it demand a value" for check in passed]

    def _cheat(self, name: str, one: Run) -> None:
        for record in one.records:
            if record.outcome is Outcome.PASSED:
                self.problems.append(f"{record.check}: {name}, returned to every question, passes")
            elif record.outcome is Outcome.GRADER_ERROR:
                self.problems.append(f"{record.check}: {name}, returned to every question: {_told(record)}")

    def release(self) -> None:
        """What students would get, made twice."""
        try:
            files = release.build(self.course.assignment)
            if release.build(self.course.assignment) != files:
                self.problems.append("the release was made twice, with different bytes")
        except SpecError as error:
            self.problems += error.problems

    def verdict(self, committed: Signatures) -> Verdict:
        """Everything that was found, put together."""
        assert self.solution is not None
        assignment = self.course.assignment
        signatures = self._signatures()
        judged: dict[str, list[Judged]] = {"mistake": [], "variant": []}
        for entry, variation, one in self.graded:
            judged[entry.kind].append(self._judge(entry, variation, one, signatures))
        seen = [record.check for record in self.solution.records if record.outcome is not Outcome.NOT_RUN]
        failed = [
            {record.check for record in one.records if record.outcome in FAILED}  # not skipped because of another
            for entry, _, one in self.graded
            if entry.kind == "mistake"
        ]
        caught = {check: sum(check in checks for checks in failed) for check in seen}
        drift = _drifted(committed, signatures)
        self._gaps(caught, bool(judged["mistake"]))
        earned = score([self.solution], assignment, self.course.digests)
        return Verdict(
            assignment=assignment.id,
            points=earned.points,
            bonus=earned.bonus,
            pending=earned.pending_points,
            checks=caught,
            mistakes=tuple(judged["mistake"]),
            variants=tuple(judged["variant"]),
            problems=tuple(self.problems),
            gaps=tuple(self.gaps),
            signatures=signatures,
            drift=drift,
        )

    def _signatures(self) -> Signatures:
        """The answers of every mistake where they are not the solution's."""
        probes = {probe.id: probe for probe in self.course.probes}
        mistakes = tuple(
            Signature(
                id=entry.id,
                exercise=entry.exercise,
                message=entry.sentence,
                variation=variation.name,
                answers={
                    id_: answer
                    for id_, answer in one.answers.items()
                    if probes[id_].exercise == entry.exercise and differ(answer, self.right[id_], probes[id_])
                },
            )
            for entry, variation, one in self.graded
            if entry.kind == "mistake"
        )
        return Signatures(SCHEMA, self.course.probes, self.right, mistakes)

    def _judge(self, entry: Entry, variation: Variation, one: Run, signatures: Signatures) -> Judged:
        label = f"{entry.file}{f' with {variation.name}' * bool(variation.name)}"
        unseen = {record.check for record in one.records if record.outcome is Outcome.NOT_RUN}  # for want of a GPU
        lost = {record.check for record in one.records if record.outcome is not Outcome.PASSED} - unseen
        expected = entry.expected - unseen
        for record in one.records:
            if record.evidence is not None and SLIP.search(record.evidence.message):
                self.problems.append(f"{label}: {record.evidence.message}: a slip in the file, and not its mistake")
                break
            if record.outcome is Outcome.GRADER_ERROR or record.unstable:
                told = "depends on what was called before" if record.unstable else _told(record)
                self.problems.append(f"{label}: {record.check}: {told}")
        if variation.name and lost <= expected and lost:
            pass  # another constant may be caught by fewer checks, never by others
        elif lost != expected:
            key = "FAILS" if entry.kind == "mistake" else "MISSES"
            more, less = sorted(lost - expected), sorted(expected - lost)
            sides = [f"does not pass {', '.join(more)}, which {key} does not name"] * bool(more)
            sides += [f"passes {', '.join(less)}, which {key} names"] * bool(less)
            self.problems.append(f"{label}: {'; '.join(sides)}")
        exercises = list(entry.exercises) if entry.kind == "variant" else [entry.exercise]
        named = [found.id for found in diagnose(one.answers, signatures, exercises)]
        if entry.kind == "variant" and named:
            self.problems.append(f"{label}: is right, and was told of {', '.join(named)}")
        elif entry.kind == "mistake" and lost and named != [entry.id]:
            told = f"was taken for {', '.join(named)}" if named else self._unnamed(entry, one, signatures)
            (self.problems if named else self.gaps).append(f"{label}: {told}")
        return Judged(entry.file, entry.id, entry.exercise, variation.name, tuple(sorted(lost)), tuple(named))

    def _unnamed(self, entry: Entry, one: Run, signatures: Signatures) -> str:
        if self.course.probes and not one.answers:
            return "is never asked the probes: they are for who loses core points by a wrong answer"
        mine = [known for known in signatures.mistakes if known.id == entry.id and known.exercise == entry.exercise]
        if not any(known.answers for known in mine):
            return "answers every probe as the solution does, within its limit — add a probe that tells them apart"
        probes = {probe.id: probe for probe in signatures.probes}
        twins = {
            known.id
            for known in signatures.mistakes
            for own in mine
            if known.exercise == entry.exercise and known.id != entry.id and known.answers.keys() == own.answers.keys()
            if not any(differ(known.answers[p], own.answers[p], probes[p]) for p in own.answers)
        }
        return f"answers every probe like {', '.join(sorted(twins)) or 'others'} — add a probe that tells them apart"

    def _gaps(self, caught: dict[str, int], mistakes: bool) -> None:
        if not mistakes:
            self.gaps.append("there is no mistakes/: nothing proves that the checks catch anything")
        self.gaps += [f"{check}: no mistake of the gallery fails it" for check, count in caught.items() if not count]
        self.gaps += [
            f"{check.id}: has {len(check.hints)} hints, not {RUNGS}"
            for check in self.course.assignment.checks
            if len(check.hints) != RUNGS
        ]


def _told(record: Record) -> str:
    """Why a check did not pass, for its author: with the last line of the traceback, where there is one."""
    if record.evidence is None:
        return record.outcome
    last = record.evidence.detail.strip().splitlines()[-1:]
    return ": ".join([record.evidence.message, *last])


def _drifted(committed: Signatures, made: Signatures) -> bool:
    """Whether two sets of signatures name differently; last digits may differ from one machine to the next."""
    probes = {probe.id: probe for probe in made.probes}

    def heads(signatures: Signatures) -> Iterator[object]:
        yield signatures.schema
        yield signatures.probes
        yield [(m.id, m.exercise, m.message, m.variation, sorted(m.answers)) for m in signatures.mistakes]
        yield sorted(signatures.right)

    if list(heads(committed)) != list(heads(made)):
        return True
    if any(differ(committed.right[id_], made.right[id_], probe) for id_, probe in probes.items()):
        return True
    return any(
        differ(old.answers[id_], new.answers[id_], probes[id_])
        for old, new in zip(committed.mistakes, made.mistakes, strict=True)
        for id_ in new.answers
    )
