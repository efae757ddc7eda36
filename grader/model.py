"""The nouns: frozen records that go to JSON and back. No behaviour beyond what a record knows of itself.

``Assignment`` is the instructor's intent, ``Submission`` the student's source, ``Run`` what was observed (no
points), ``Score`` what it earns. Non-finite numbers in records are the strings "nan", "inf", "-inf", because
JSON has no word for them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

__all__ = [
    "LOADS",
    "RUN_SCHEMA",
    "WIRE_VERSION",
    "Assignment",
    "Case",
    "Check",
    "CheckFailure",
    "CheckScore",
    "Evidence",
    "Exercise",
    "Isolation",
    "Limits",
    "MistakeFound",
    "Number",
    "Outcome",
    "Record",
    "Run",
    "Score",
    "Submission",
    "strict_number",
    "to_json",
]

RUN_SCHEMA = 1  # of the run files
LOADS = 6  # times `Limits.load_s` for all loading of one submission: a crash in every check needs many workers
WIRE_VERSION = 1  # of the frames in `grader.wire`; part of every check's digest

Number = float | Literal["nan", "inf", "-inf"]


def to_json(document: object, indent: int = 2) -> bytes:
    """Strict JSON as it lies in files and on standard output: indented, with one final newline."""
    return msgspec.json.format(msgspec.json.encode(document), indent=indent) + b"\n"


def strict_number(value: float) -> Number:
    """``value`` as JSON may hold it: finite numbers as they are, the others by name."""
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


class Outcome(enum.StrEnum):
    """What became of one check. Only ``passed`` earns points; none of them shrinks the maximum."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"  # the student's code raised, died, or broke the protocol
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"  # a check that this one needs did not pass
    NOT_RUN = "not_run"  # needs a device that is not here: its points are pending
    GRADER_ERROR = "grader_error"  # our fault: pending, always shown, never a zero


class _Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all records: immutable, and strict about what it reads."""


class Limits(_Frozen, frozen=True):
    """What one submission may use. Times in seconds of wall clock, memory and output in MiB."""

    call_s: float = 5.0  # one call of student code; small checks take milliseconds
    timeouts: int = 3  # after so many in one exercise, its calls get `late_call_s`
    late_call_s: float = 1.0
    exercise_s: float = 60.0  # all calls of one exercise, both passes; a slow one must not starve the others
    load_s: float = 10.0  # executing the file once; see LOADS
    memory_mb: int = 2048  # address space beyond what the worker starts with
    output_kb: int = 64  # kept of what is printed, half from the head and half from the tail
    output_kill_mb: int = 64  # a worker that prints more than this is ended


class Exercise(_Frozen, frozen=True):
    """One function (or name) the student writes; ``points`` is the sum of its core checks."""

    id: str
    title: str
    points: float
    forbidden: tuple[str, ...] = ()  # names of library functions that the student has to do without


class Check(_Frozen, frozen=True):
    """One test function. ``id`` is "<exercise>/<name>"; the function is called ``test_<name>``."""

    id: str
    exercise: str
    title: str
    file: str  # relative to the assignment folder, with "/"
    function: str
    line: int
    hidden: bool
    points: float = 0.0
    stretch: bool = False  # its points are bonus
    split: bool = False  # parametrised cases share the points instead of all having to pass
    needs: tuple[str, ...] = ()  # ids of checks of the same exercise
    device: Literal["cpu", "cuda"] = "cpu"
    hints: tuple[str, ...] = ()


class Assignment(_Frozen, frozen=True):
    """An assignment as its folder describes it. ``checks`` is in the order in which they run."""

    id: str
    title: str
    file: str  # the name of the student's file, for example "losses.py"
    folder: str  # absolute path of assignments/<id>
    solution: str  # absolute path of solutions/<id>/<file>
    exercises: tuple[Exercise, ...]
    checks: tuple[Check, ...]
    limits: Limits = Limits()

    @property
    def forbidden(self) -> dict[str, tuple[str, ...]]:
        """Exercise → what it must do without, for exercises that must do without something."""
        return {exercise.id: exercise.forbidden for exercise in self.exercises if exercise.forbidden}

    @property
    def hidden_checks(self) -> tuple[Check, ...]:
        """The checks that score; public ones never earn points, for their answers ship with them."""
        return tuple(check for check in self.checks if check.hidden)

    @property
    def public_checks(self) -> tuple[Check, ...]:
        """The checks that ship with the release."""
        return tuple(check for check in self.checks if not check.hidden)


class Submission(_Frozen, frozen=True):
    """One student's entry after intake: source text, or the sentence why there is none."""

    student: str
    file: str  # the file's name inside the entry, for messages
    source: str | None  # None: unreadable, and `problem` says why
    digest: str  # sha256 of the bytes handed in
    problem: str = ""
    warnings: tuple[str, ...] = ()


class Evidence(_Frozen, frozen=True, omit_defaults=True):
    """Why a check did not pass.

    ``kind`` and ``message`` may be shown to the student of a hidden check; ``input``, ``expected``, ``got`` and
    ``detail`` may hold hidden values and are for the staff (and, for public checks, for the student).
    """

    kind: str  # stable category word, for example "inexact"; see `grader.compare`
    message: str
    input: str = ""
    expected: str = ""
    got: str = ""
    detail: str = ""
    error: Number | None = None  # in `unit`
    limit: float | None = None  # in `unit`
    unit: str = ""
    reason: str = ""  # why the limit is what it is
    line: int | None = None  # in the student's file
    case: str = ""  # the parametrised case
    size: int = 0  # elements in the input: the smallest failing case is the one shown


class CheckFailure(Exception):  # noqa: N818 - it is the verdict "failed", not an error of the program
    """Raised inside a check to say: the student's answer is wrong, and here is the evidence.

    ``later`` are fields of the evidence that cost something to put into words; they are made when somebody reads them.
    """

    def __init__(self, evidence: Evidence, later: Mapping[str, Callable[[], str]] | None = None) -> None:
        super().__init__(evidence.message)
        self._evidence = evidence
        self._later = dict(later or {})

    @property
    def kind(self) -> str:
        """The kind of the evidence."""
        return self._evidence.kind

    @property
    def evidence(self) -> Evidence:
        """All of the evidence."""
        if self._later:
            self._evidence = msgspec.structs.replace(self._evidence, **{k: make() for k, make in self._later.items()})
            self._later = {}
        return self._evidence


class Case(_Frozen, frozen=True, omit_defaults=True):
    """One case of a parametrised check."""

    id: str
    outcome: Outcome
    evidence: Evidence | None = None


class Part(_Frozen, frozen=True, omit_defaults=True):
    """One tensor of an answer, or one plain value (then ``dtype`` is its type's name and ``shape`` is empty)."""

    dtype: str
    shape: tuple[int, ...] = ()
    values: tuple[float | str, ...] = ()  # in flat order, the first of them; nan and ±inf by name


class Answer(_Frozen, frozen=True, omit_defaults=True):
    """What came of one probe."""

    word: str  # "value", or what happened instead, for example "raised ValueError"
    parts: dict[str, Part] = {}
    digest: str = ""  # of the request it answers


class Probe(_Frozen, frozen=True):
    """A call with public inputs whose answer tells mistakes apart; see `grader.probe`."""

    id: str  # "<exercise>/<name>"
    exercise: str
    call: str  # for people
    request: str  # the wire's frame, base64
    digest: str  # of the request
    limit: float  # two numbers are equal within limit · eps · (scale + their size)
    scale: float  # the largest finite magnitude among the inputs


class Signature(_Frozen, frozen=True):
    """How one mistake of the gallery, or a variation of it, answers where it differs from the solution."""

    id: str
    exercise: str
    message: str
    answers: dict[str, Answer]
    variation: str = ""  # "EPS = 1e-06": other constants, the same mistake


class Signatures(_Frozen, frozen=True):
    """``signatures.json``: what is asked, what is right, and what each mistake answers."""

    schema: int
    probes: tuple[Probe, ...]
    right: dict[str, Answer]
    mistakes: tuple[Signature, ...]


class Record(_Frozen, frozen=True, omit_defaults=True):
    """What was observed of one check; no points."""

    check: str
    digest: str  # of everything that decides the outcome; see `spec.check_digests`
    outcome: Outcome
    seconds: float = 0.0
    evidence: Evidence | None = None
    cases: tuple[Case, ...] = ()
    unstable: bool = False  # two passes disagreed; a third, alone in its worker, decided
    device: str = "cpu"


class Isolation(_Frozen, frozen=True):
    """The tier that was asked for and the layers that were really applied."""

    tier: str
    applied: tuple[str, ...]
    landlock_abi: int = 0  # the kernel's version of that layer, which decides what it can forbid; 0: not used


class Run(_Frozen, frozen=True):
    """Everything observed about one submission in one sitting."""

    schema: int
    assignment: str
    student: str
    id: str
    file: str
    submission: str  # sha256 of what was handed in
    seed_hash: str
    device: str
    isolation: Isolation
    versions: dict[str, str]
    started: str  # ISO 8601, UTC
    seconds: float
    records: tuple[Record, ...]
    warnings: tuple[str, ...] = ()
    problem: str = ""  # the whole file could not be used: why
    output: str = ""  # what the submission printed, cut in the middle
    answers: dict[str, Answer] = {}  # probe id → answer, for the exercises that lost points


class CheckScore(_Frozen, frozen=True):
    """One line of a score. ``message`` is safe to show to the student."""

    id: str
    exercise: str
    outcome: Outcome
    points: float
    max_points: float
    stretch: bool
    message: str


class MistakeFound(_Frozen, frozen=True):
    """A mistake of the gallery that the student's answers match."""

    id: str
    exercise: str
    message: str


class Score(_Frozen, frozen=True):
    """What a student's runs earn. ``points`` never includes ``bonus``; all of them are finite and >= 0."""

    student: str
    points: float
    max_points: float
    bonus: float
    pending_points: float
    run: str  # path of the newest run, relative to RESULTS
    checks: tuple[CheckScore, ...]
    mistakes: tuple[MistakeFound, ...] = ()
