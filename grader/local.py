"""Checks at home: a release folder, the student's file in it, the public checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from grader.diagnose import diagnose, read_signatures
from grader.errors import UnreadableSubmission, UsageError
from grader.handle import Handle, LocalHandle, read_scenarios
from grader.intake import Entry, read
from grader.manifest import MANIFEST, Table, read_table
from grader.model import Assignment, Check, MistakeFound, Outcome, Signatures
from grader.probe import UNWRITTEN, ask
from grader.reference import RecordedReference
from grader.session import Checks, Observation, with_checks

__all__ = ["Diagnoses", "check", "checks_of", "open_handle", "open_reference"]

Tell = Callable[[Check, Observation, tuple[MistakeFound, ...]], None]


def find_release(path: Path) -> tuple[Path, Path]:
    """The release folder and the student's file that ``path`` means. Raises UsageError."""
    path = path.resolve()
    if not path.exists() and not (path.parent / MANIFEST).is_file():
        raise UsageError(f"there is no {path}")
    folder = path if path.is_dir() else path.parent
    if not (folder / MANIFEST).is_file():
        raise UsageError(
            f"{folder} is not a release folder: it has no {MANIFEST}."
            " Go to the folder you were given, or name a file in it"
        )
    return folder, folder / read_table(folder).assignment.file if path.is_dir() else path


def open_handle(folder: Path, file: Path, assignment: Assignment) -> LocalHandle:
    """The student's file, loaded in this process. Raises UnreadableSubmission with the reason."""
    if not file.exists():
        raise UnreadableSubmission(f"{file.name} is missing in {folder}")
    submission = read(Entry(file.stem, file), assignment)
    if submission.source is None or submission.problem:
        raise UnreadableSubmission(submission.problem)
    handle = LocalHandle(submission.source, str(file), read_scenarios(folder / "checks"), assignment.forbidden)
    told = (f"{file.name}:{fault['line']} raised {fault['name']}: {fault['text']}" for fault in handle.faults)
    handle.notes = (*submission.warnings, *told)
    return handle


def open_reference(folder: Path) -> RecordedReference:
    """The expected answers that came with the release. Raises UsageError with the reason."""
    path = folder / "checks" / "expected.json"
    try:
        return RecordedReference(msgspec.json.decode(path.read_bytes(), type=dict[str, str]))
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} cannot be read: {error}. Get a fresh copy of the release") from None


def checks_of(folder: Path, table: Table, exercise: str | None) -> list[Check]:
    """The public checks of one exercise, or of all, with their files in place. Raises UsageError with the reason."""
    exercises = [known.id for known in table.assignment.exercises]
    if exercise is not None and exercise not in exercises:
        raise UsageError(f"there is no exercise `{exercise}`; this assignment has: {', '.join(exercises)}")
    wanted = [check for check in table.assignment.checks if exercise in (None, check.exercise)]
    for check in wanted:
        if not (folder / check.file).is_file():
            raise UsageError(f"{folder / check.file} is missing. Get a fresh copy of the release")
    return wanted


class Diagnoses:
    """Names the mistakes of a submission by its answers, each exercise when it is first asked for."""

    def __init__(self, handle: Handle, signatures: Signatures) -> None:
        self._handle = handle
        self._signatures = signatures
        self._known: dict[str, tuple[MistakeFound, ...]] = {}

    def of(self, exercise: str, kind: str) -> tuple[MistakeFound, ...]:
        """What explains that a check of ``exercise`` failed in this way; what is not written yet holds no mistake."""
        if kind in UNWRITTEN:
            return ()
        if exercise not in self._known:
            probes = [probe for probe in self._signatures.probes if probe.exercise == exercise]
            answers = ask(self._handle, probes)
            self._known[exercise] = tuple(diagnose(answers, self._signatures, [exercise]))
        return self._known[exercise]


def check(
    path: Path,
    only: str | None,
    stop_at_first: bool,
    tell: Tell,
    note: Callable[[str], None] = lambda text: None,
) -> tuple[Table, dict[str, Observation], tuple[MistakeFound, ...]]:
    """Run the public checks on ``path``, telling each result as it comes; all of them by check id, and what is named.

    Raises UsageError for a folder or exercise that is not there, UnreadableSubmission for the student's file.
    """
    folder, file = find_release(path)
    table = read_table(folder)
    wanted = checks_of(folder, table, only)
    if only is not None and not wanted:
        raise UsageError(f"`{only}` has no public checks; hidden ones will grade it")
    seen: dict[str, Observation] = {}
    found: list[MistakeFound] = []

    def body(checks: Checks) -> None:
        handle = open_handle(folder, file, table.assignment)
        diagnoses = Diagnoses(handle, read_signatures(folder / "checks"))
        for text in handle.notes:
            note(text)
        for item in wanted:
            if all(need not in seen or seen[need].outcome is Outcome.PASSED for need in item.needs):
                seen[item.id] = checks.play(item, handle)
            else:
                seen[item.id] = Observation(Outcome.SKIPPED, 0.0)
            mistakes: tuple[MistakeFound, ...] = ()
            if seen[item.id].evidence is not None:  # put into words before the handle is asked anything else
                mistakes = diagnoses.of(item.exercise, seen[item.id].kind)
                found.extend(mistake for mistake in mistakes if mistake not in found)
            tell(item, seen[item.id], mistakes)
            if stop_at_first and seen[item.id].outcome is not Outcome.PASSED:
                return

    with_checks(folder, wanted, open_reference(folder), body)
    return table, seen, tuple(found)
