"""RESULTS on disk: one folder per student with one JSON file per run, a journal while it runs.

``about.json`` says which assignment and which secret the folder belongs to. Only a closed run counts as graded;
everything else in the folder can be rebuilt from the runs. Whoever grades has the folder to himself
(:meth:`Results.claim`), and what is made in it is its owner's alone, for evidence holds hidden inputs.

A run that was interrupted is begun anew, from its first check: to go on in another worker would give a submission that
can end its grader a second choice of what to show. Its journal tells staff how far it came; no verdict is read from it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grader.errors import EnvironmentRefused, GraderError, UsageError
from grader.intake import safe_name
from grader.model import RUN_SCHEMA, Assignment, Outcome, Record, Run, Submission, to_json

if sys.platform != "win32":
    import fcntl

__all__ = ["PRIVATE", "Journal", "Results", "run_path", "write_atomically"]

SYNC_SECONDS = 0.1  # a crash of the machine may cost this much of an open journal, never a closed run
LOCK_SECONDS = 2.0  # how long a killed `grade` can be outlived by its slots, which hold its lock too
PRIVATE = 0o600  # of files, in folders of 0o700
SCHEMA = 1
ABOUT, LOCK = "about.json", ".lock"
UNSANDBOXED = "process"  # the tier of isolation in which a submission can reach RESULTS


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


def write_atomically(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write ``data`` so that ``path`` holds either the old bytes or all of the new ones, also after a power cut.

    ``mode`` is that of a new file, less what the umask takes. Raises EnvironmentRefused.
    """
    temporary = _temporary(path)
    with _disk(path):
        try:
            with open(temporary, "wb", opener=_opener(mode)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()  # half a file would take the room that others need
            raise
        _sync_folder(path.parent)


def _opener(mode: int) -> Callable[[str, int], int]:
    return lambda path, flags: os.open(path, flags, mode)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a directory cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """A private folder that is still there after a power cut; one that is there already stays as it is."""
    if not folder.is_dir():
        folder.mkdir(0o700, exist_ok=True)
        _sync_folder(folder.parent)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The lock at ``path``, held until the last process is dead that has the descriptor. Raises EnvironmentRefused.

    The kernel keeps it, not the file: what a killed process leaves behind locks nobody out.
    """
    with _disk(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _lock(path, descriptor):
            if time.monotonic() > deadline:
                holder = os.pread(descriptor, 1000, 0).decode("utf-8", "replace").strip() or "it has not said which"
                # 5 and not 2: nothing is wrong with the command, the same one does its work later
                raise EnvironmentRefused(
                    f"{path.parent} is being graded by another `grade` ({holder}), and two would give the same runs"
                    " twice. Wait until it has finished, or end it, and run the same command again; or choose another"
                    " --out"
                )
            time.sleep(0.05)
        holder = f"process {os.getpid()} on {platform.node()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n"
        with _disk(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(path: Path, descriptor: int) -> bool:
    if sys.platform == "win32":
        return True  # nobody grades there
    with _disk(path):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


class Journal:
    """The open run of one student: a line per settled check, closed into a run by :meth:`close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._closed_path = path.with_suffix(".json")
        with _disk(path):
            _make_folder(path.parent.parent)
            _make_folder(path.parent)
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, path.with_suffix(".interrupted.jsonl"))
            self._file = open(path, "wb", buffering=0, opener=_opener(PRIVATE))  # noqa: SIM115 - closed in abandon()
        self._synced = time.monotonic()

    def add(self, record: Record) -> None:
        """Append one record. It outlives this process; the machine, once the next one comes 100 ms later."""
        with _disk(self.path):
            self._file.write(msgspec.json.encode(record) + b"\n")
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()

    def close(self, run: Run) -> None:
        """The run is complete: from here on it counts as graded."""
        write_atomically(self._closed_path, to_json(run, indent=1), PRIVATE)
        self.abandon()
        with contextlib.suppress(OSError):  # the run counts all the same, and a journal beside it says nothing more
            self.path.unlink()

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
    """A RESULTS folder. ``lock`` is the descriptor that keeps it for this process; -1 where it was not claimed."""

    def __init__(self, root: Path, lock: int = -1) -> None:
        self.root = root
        self.lock = lock

    @classmethod
    @contextlib.contextmanager
    def claim(cls, root: Path, assignment: str, seed_hash: str, *, force: bool = False) -> Iterator[Results]:
        """As :meth:`create`, with the folder to oneself until all processes are dead that have inherited ``lock``.

        Raises EnvironmentRefused if somebody else keeps it for longer than a killed `grade` takes to die.
        """
        cls(root)._look(assignment, seed_hash, force=force)  # a folder that is not ours gets no lock either
        with _disk(root):
            cls._make(root)
        with _locked(root / LOCK) as descriptor:
            cls.create(root, assignment, seed_hash, force=force)
            yield cls(root, descriptor)

    @classmethod
    def create(cls, root: Path, assignment: str, seed_hash: str, *, force: bool = False) -> Results:
        """Open ``root`` for grading, making it if need be.

        Raises UsageError if it belongs to another assignment, or to another secret and ``force`` is not given.
        """
        results = cls(root)
        with _disk(root):
            if not results._look(assignment, seed_hash, force=force):
                cls._make(root)
                write_atomically(
                    root / ABOUT, msgspec.json.encode(About(SCHEMA, assignment, seed_hash)) + b"\n", PRIVATE
                )
            _make_folder(root / "runs")
        return results

    @staticmethod
    def _make(root: Path) -> None:
        root.parent.mkdir(parents=True, exist_ok=True)
        _make_folder(root)

    def _look(self, assignment: str, seed_hash: str, *, force: bool) -> bool:
        """Whether it is a folder of this assignment and secret; False where there is none yet. Raises UsageError."""
        root = self.root
        with _disk(root):
            if (root / ABOUT).exists():
                known = self.about()
                if known.assignment != assignment:
                    raise UsageError(
                        f"{root} holds results of `{known.assignment}`, not of `{assignment}`; choose another --out"
                    )
                if known.seed_hash == seed_hash:
                    return True
                if not force:
                    raise UsageError(
                        f"{root} was graded with another course secret (.grader/secret), so its hidden inputs differ. "
                        "Restore that secret, choose another --out, or use --force to grade everything again here"
                    )
            elif root.exists() and (
                not root.is_dir() or {path.name for path in root.iterdir()} - {LOCK, _temporary(root / ABOUT).name}
            ):
                raise UsageError(f"{root} exists and is not a results folder; choose another --out")
        return False

    def about(self) -> About:
        """What the folder belongs to. Raises UsageError if it is no results folder."""
        path = self.root / ABOUT
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
        """Student → closed runs, oldest first, in the order of ids. Who has a file that is not a run is left out.

        So is who has no closed run: a run that was interrupted is neither a zero nor anything else.
        """
        found = {}
        for folder in (self.root / "runs").iterdir():
            with contextlib.suppress(GraderError):  # told when this student is graded; the others have their scores
                if runs := _runs_in(folder):
                    found[runs[-1].student] = runs
        return dict(sorted(found.items()))

    def runs(self, student: str) -> list[Run]:
        """The closed runs of ``student``, oldest first. Raises GraderError for a file that is not a run."""
        return _runs_in(self.root / "runs" / safe_name(student))

    def graded(
        self, submission: Submission, assignment: Assignment, digests: Mapping[str, str], device: str, tier: str
    ) -> bool:
        """The newest run is of this very submission and holds a current record of every check that can run here.

        A run without a sandbox does not count where one is asked for: what ran there could write its own verdict.
        """
        runs = self.runs(submission.student)
        if not runs or runs[-1].submission != submission.digest or runs[-1].file != submission.file:
            return False
        if runs[-1].isolation.tier == UNSANDBOXED != tier:
            return False
        records = {record.check: record for record in runs[-1].records}
        for check in assignment.hidden_checks:
            record = records.get(check.id)
            if record is None or record.digest != digests[check.id] or record.outcome is Outcome.GRADER_ERROR:
                return False
            if record.outcome is Outcome.NOT_RUN and device == "cuda":
                return False
        return True

    def next_id(self, student: str) -> str:
        """The id of the student's next run: "0001", "0002", …, after the closed ones.

        An interrupted run had not been told to anybody, so its id is free again: the same class gets the same scores,
        run ids and all, however often its grading was interrupted.
        """
        closed = (self.root / "runs" / safe_name(student)).glob("[0-9]*.json")
        return f"{max((int(path.stem) for path in closed if path.stem.isdigit()), default=0) + 1:04d}"

    def closed(self, student: str, run_id: str) -> bool:
        """Whether that run is there: it counts, and must not be run again."""
        return (self.root / run_path(student, run_id)).exists()

    def open_run(self, student: str, run_id: str) -> Journal:
        """Begin that run, from nothing. The journal that an interrupted one has left becomes ``.interrupted.jsonl``."""
        return Journal((self.root / run_path(student, run_id)).with_suffix(".jsonl"))
