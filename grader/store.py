"""RESULTS on disk: one folder per student with one JSON file per run, a journal while it runs.

``about.json`` says which assignment and which secret the folder belongs to. Only a closed run counts as graded;
everything else in the folder can be rebuilt from the runs.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from grader.errors import EnvironmentRefused, GraderError, UsageError
from grader.intake import safe_name
from grader.model import RUN_SCHEMA, Assignment, Outcome, Record, Run, Submission, to_json

__all__ = ["Journal", "Results", "run_path", "write_atomically"]

SYNC_SECONDS = 0.1  # a crash of the machine may cost this much of an open journal, never a closed run
SCHEMA = 1


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a RESULTS folder belongs to."""

    schema: int
    assignment: str
    seed_hash: str


def run_path(student: str, run_id: str) -> str:
    """Where a run lies, relative to RESULTS."""
    return f"runs/{safe_name(student)}/{run_id}.json"


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentRefused(
            f"cannot write {path}: {error.strerror or error}. What was graded before is kept; make room (or choose"
            " another --out) and run the same command again"
        ) from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` holds either the old bytes or all of the new ones, also after a power cut."""
    temporary = _temporary(path)
    with _disk(path):
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a directory cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Journal:
    """The open run of one student: a line per settled check, closed into a run by :meth:`close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._closed_path = path.with_suffix(".json")
        with _disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab")  # noqa: SIM115 - closed in close(), which may be long after
        self._synced = time.monotonic()

    def add(self, record: Record) -> None:
        """Append one record; it is on disk 100 ms later at the latest, or when the run is closed."""
        with _disk(self.path):
            self._file.write(msgspec.json.encode(record) + b"\n")
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def close(self, run: Run) -> None:
        """The run is complete: from here on it counts as graded."""
        write_atomically(self._closed_path, to_json(run, indent=1))
        self.abandon()
        with _disk(self.path):
            for journal in self.path.parent.glob("*.jsonl"):  # this one, and what interrupted runs have left
                journal.unlink()

    def abandon(self) -> None:
        """Leave the journal as it is; what does not fit on the disk any more is lost."""
        with contextlib.suppress(OSError):
            self._file.close()


def _runs_in(folder: Path) -> list[Run]:
    runs = []
    for path in sorted(folder.glob("[0-9]*.json")):
        try:
            runs.append(msgspec.json.decode(path.read_bytes(), type=Run))
            if runs[-1].schema != RUN_SCHEMA:
                raise msgspec.ValidationError(f"it has schema {runs[-1].schema}, this grader reads {RUN_SCHEMA}")
        except (OSError, msgspec.MsgspecError) as error:
            raise GraderError(f"{path} is not a run: {error}. Move it away to grade this student again") from None
    return runs


class Results:
    """A RESULTS folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def create(cls, root: Path, assignment: str, seed_hash: str, *, force: bool = False) -> Results:
        """Open ``root`` for grading, making it if need be.

        Raises UsageError if it belongs to another assignment, or to another secret and ``force`` is not given.
        """
        results = cls(root)
        about = root / "about.json"
        with _disk(root):
            if about.exists():
                known = results.about()
                if known.assignment != assignment:
                    raise UsageError(
                        f"{root} holds results of `{known.assignment}`, not of `{assignment}`; choose another --out"
                    )
                if known.seed_hash == seed_hash:
                    return results
                if not force:
                    raise UsageError(
                        f"{root} was graded with another course secret (.grader/secret), so its hidden inputs differ. "
                        "Restore that secret, choose another --out, or use --force to grade everything again here"
                    )
            elif root.exists() and (not root.is_dir() or set(root.iterdir()) - {_temporary(about)}):
                raise UsageError(f"{root} exists and is not a results folder; choose another --out")
            root.mkdir(parents=True, exist_ok=True)
        write_atomically(about, msgspec.json.encode(About(SCHEMA, assignment, seed_hash)) + b"\n")
        return results

    def about(self) -> About:
        """What the folder belongs to. Raises UsageError if it is no results folder."""
        path = self.root / "about.json"
        try:
            about = msgspec.json.decode(path.read_bytes(), type=About)
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"{self.root} is not a results folder: {path.name}: {error}") from None
        if about.schema != SCHEMA:
            raise UsageError(
                f"{self.root} has schema {about.schema}, this grader reads {SCHEMA}: use the grader that made it, or"
                " choose another --out"
            )
        return about

    def everybody(self) -> dict[str, list[Run]]:
        """Student → closed runs, oldest first, in the order of ids. Who has a file that is not a run is left out."""
        found = {}
        for folder in (self.root / "runs").iterdir():
            with contextlib.suppress(GraderError):  # told when this student is graded; the others have their scores
                if runs := _runs_in(folder):
                    found[runs[-1].student] = runs
        return dict(sorted(found.items()))

    def runs(self, student: str) -> list[Run]:
        """The closed runs of ``student``, oldest first. Raises GraderError for a file that is not a run."""
        return _runs_in(self.root / "runs" / safe_name(student))

    def graded(self, submission: Submission, assignment: Assignment, digests: Mapping[str, str], device: str) -> bool:
        """The newest run is of this very submission and holds a current record of every check that can run here."""
        runs = self.runs(submission.student)
        if not runs or runs[-1].submission != submission.digest or runs[-1].file != submission.file:
            return False
        records = {record.check: record for record in runs[-1].records}
        for check in assignment.hidden_checks:
            record = records.get(check.id)
            if record is None or record.digest != digests[check.id] or record.outcome is Outcome.GRADER_ERROR:
                return False
            if record.outcome is Outcome.NOT_RUN and device == "cuda":
                return False
        return True

    def new_run(self, student: str) -> tuple[str, Journal]:
        """The next run's id ("0001", "0002", …) and its journal."""
        folder = self.root / "runs" / safe_name(student)
        taken = [int(path.stem) for path in folder.glob("[0-9]*.json*") if path.stem.isdigit()]
        run_id = f"{max(taken, default=0) + 1:04d}"
        return run_id, Journal(folder / f"{run_id}.jsonl")
