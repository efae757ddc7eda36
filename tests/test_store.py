"""RESULTS on disk: what is closed is kept whole, what is not does not count, and nobody else's folder is touched."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import store
from grader.errors import EnvironmentRefused, GraderError, UsageError
from grader.intake import safe_name
from grader.model import Assignment, Check, Evidence, Exercise, Isolation, Outcome, Record, Run, Submission
from grader.store import Journal, Results, run_path, write_atomically

CHECKS = ("double/one", "double/two")
ASSIGNMENT = Assignment(
    id="trio",
    title="Trio",
    file="trio.py",
    folder="/nowhere",
    solution="/nowhere/trio.py",
    exercises=(Exercise("double", "Double", 2),),
    checks=tuple(
        Check(
            id=name,
            exercise="double",
            title="t",
            file="f.py",
            function="test_x",
            line=1,
            hidden=name != "double/public",
        )
        for name in ("double/public", *CHECKS)
    ),
)
DIGESTS = dict.fromkeys(["double/public", *CHECKS], "d1")
SUBMITTED = Submission(student="ada", file="trio.py", source="x", digest="s1")


def record(check: str, outcome: Outcome = Outcome.FAILED, digest: str = "d1") -> Record:
    """A record with evidence that needs care in JSON."""
    evidence = None if outcome is Outcome.PASSED else Evidence("inexact", "off by ∞ eps\n\0", error="inf", limit=1.5)
    return Record(check, digest, outcome, seconds=0.25, evidence=evidence)


def a_run(run_id: str = "0001", records: tuple[Record, ...] | None = None, **changes: Any) -> Run:
    """A run of `ada`."""
    run = Run(
        schema=1,
        assignment="trio",
        student="ada",
        id=run_id,
        file="trio.py",
        submission="s1",
        seed_hash="h1",
        device="cpu",
        isolation=Isolation("process", ("rlimits",)),
        versions={"torch": "2.13"},
        started="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        records=tuple(map(record, CHECKS)) if records is None else records,
        output="printed \N{REPLACEMENT CHARACTER}",
    )
    return msgspec.structs.replace(run, **changes)


def contents(root: Path) -> dict[str, bytes]:
    """Everything below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def new_run(results: Results, student: str) -> tuple[str, Journal]:
    """The next run of a student, begun."""
    run_id = results.next_id(student)
    return run_id, results.open_run(student, run_id)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty RESULTS."""
    return Results.create(tmp_path / "results", "trio", "h1")


def test_a_run_comes_back_as_it_was_written(results: Results) -> None:
    """Journal, close, read: the same record, and the journal is gone."""
    run_id, journal = new_run(results, "ada")
    for one in map(record, CHECKS):
        journal.add(one)
    journal.close(a_run(run_id))

    assert results.runs("ada") == [a_run("0001")]
    assert set(contents(results.root)) == {"about.json", run_path("ada", "0001")}
    assert run_path("ada", "0001") == "runs/ada/0001.json"


def test_run_ids_grow_and_an_interruption_takes_none(results: Results) -> None:
    """The run after an interrupted one has its id, so that the scores of a class do not tell how it was graded."""
    for expected in ("0001", "0002"):
        run_id, journal = new_run(results, "ada")
        assert run_id == expected
        assert not results.closed("ada", run_id)
        journal.close(a_run(run_id))
        assert results.closed("ada", run_id)
    run_id, journal = new_run(results, "ada")
    journal.add(record(CHECKS[0]))
    journal.abandon()
    after, journal = new_run(results, "ada")
    journal.close(a_run(after))

    assert (run_id, after) == ("0003", "0003")
    assert [run.id for run in results.runs("ada")] == ["0001", "0002", "0003"]
    assert results.next_id("bob") == "0001"


def test_an_interrupted_run_is_begun_anew_and_its_journal_kept(results: Results) -> None:
    """Nothing of it reaches the new run or its journal; staff find how far it came; its student has no runs yet."""
    _, journal = new_run(results, "ada")
    journal.add(record(CHECKS[0]))  # and then the process is gone: nothing is closed

    assert results.everybody() == {}
    _, again = new_run(results, "ada")
    assert again.path.read_bytes() == b""
    again.close(a_run(records=(record(CHECKS[1]),)))
    journal.abandon()

    assert results.runs("ada") == [a_run(records=(record(CHECKS[1]),))]
    kept = results.root / "runs" / "ada" / "0001.interrupted.jsonl"
    assert msgspec.json.decode(kept.read_bytes(), type=Record) == record(CHECKS[0])
    assert not again.path.exists()
    assert results.next_id("ada") == "0002"


def test_journal_lines_are_records_and_on_disk_soon(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line decodes alone; after SYNC_SECONDS the next record takes all before it to the disk."""
    monkeypatch.setattr(store, "SYNC_SECONDS", 0.0)
    synced: list[int] = []
    _, journal = new_run(results, "ada")
    monkeypatch.setattr(os, "fsync", synced.append)
    for one in map(record, CHECKS):
        journal.add(one)

    lines = journal.path.read_bytes().splitlines()  # not closed: as another process sees it

    assert [msgspec.json.decode(line, type=Record) for line in lines] == list(map(record, CHECKS))
    assert len(synced) == 2
    journal.abandon()


@pytest.mark.parametrize("broken", ["replace", "fsync", "open"])
def test_closing_is_all_or_nothing(results: Results, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """A crash before the rename leaves the journal and no run; grading again makes it."""
    run_id, journal = new_run(results, "ada")
    journal.add(record(CHECKS[0]))

    def crash(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if broken == "open":
            patch.setattr(store, "open", crash, raising=False)
        else:
            patch.setattr(os, broken, crash)
        with pytest.raises(KeyboardInterrupt):
            journal.close(a_run(run_id))
    journal.abandon()

    assert results.runs("ada") == []
    assert not results.graded(SUBMITTED, ASSIGNMENT, DIGESTS, "cpu", "process")
    assert msgspec.json.decode(journal.path.read_bytes(), type=Record) == record(CHECKS[0])
    run_id, journal = new_run(results, "ada")
    journal.close(a_run(run_id))
    assert [run.id for run in results.runs("ada")] == [run_id] == ["0001"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes are on the disk before the name points to them, and then the folder is."""
    path = tmp_path / "x"
    path.write_bytes(b"old")
    order: list[str] = []
    replace, fsync = os.replace, os.fsync

    def noting_fsync(descriptor: int) -> None:
        order.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def noting_replace(source: Path, target: Path) -> None:
        order.append(path.read_text(encoding="utf-8"))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)

    write_atomically(path, b"new")

    assert order == [str(tmp_path / ".x.new"), "old", str(tmp_path)]
    assert contents(tmp_path) == {"x": b"new"}


FULL = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO]


@pytest.mark.parametrize("number", FULL, ids=errno.errorcode.get)
@pytest.mark.parametrize("at", ["open", "fsync", "replace"])
def test_a_disk_that_refuses_is_told(results: Results, monkeypatch: pytest.MonkeyPatch, number: int, at: str) -> None:
    """Exit code 5, the file, the system's reason, and that the same command goes on later; the old runs are there."""
    run_id, journal = new_run(results, "ada")
    journal.close(a_run(run_id))
    before = contents(results.root)
    run_id, journal = new_run(results, "ada")

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        if at == "open":
            patch.setattr(store, "open", refuse, raising=False)
        else:
            patch.setattr(os, at, refuse)
        with pytest.raises(EnvironmentRefused) as caught:
            journal.close(a_run(run_id))
    journal.abandon()

    assert caught.value.exit_code == 5
    assert str(caught.value).startswith(
        f"cannot write {results.root / run_path('ada', run_id)}: {os.strerror(number)}. "
    )
    assert "run the same command again" in str(caught.value)
    assert {name: data for name, data in contents(results.root).items() if name in before} == before
    assert [run.id for run in results.runs("ada")] == ["0001"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_under_the_journal_is_told_once(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Really full, also while the journal is given up: one refusal, and giving up raises nothing."""
    folder = results.root / "runs" / "ada"
    folder.mkdir(parents=True)
    with monkeypatch.context() as patch:
        full = functools.partial(open, "/dev/full", "wb", buffering=0)
        patch.setattr(store, "open", lambda *args, **more: full(), raising=False)
        journal = Journal(folder / "0007.jsonl")
    with pytest.raises(EnvironmentRefused, match="No space left on device"):
        journal.add(record(CHECKS[0]))

    journal.abandon()
    journal.abandon()


@pytest.mark.parametrize("where", ["file", "within a file", "name too long"])
def test_a_place_where_no_folder_can_be_is_told(tmp_path: Path, where: str) -> None:
    """--out names a file, something below a file, or what the file system cannot call so: a sentence each."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    out = {
        "file": tmp_path / "file",
        "within a file": tmp_path / "file" / "out",
        "name too long": tmp_path / ("n" * 300),
    }
    with pytest.raises((UsageError, EnvironmentRefused), match="another --out"):
        Results.create(out[where], "trio", "h1")

    assert contents(tmp_path) == {"file": b"mine"}


def _about(**changes: object) -> bytes:
    return msgspec.json.encode({"schema": 1, "assignment": "trio", "seed_hash": "h1"} | changes)


REFUSED: dict[str, tuple[dict[str, bytes], str]] = {
    "another assignment": ({"about.json": _about(assignment="losses")}, "holds results of `losses`, not of `trio`"),
    "another secret": ({"about.json": _about(seed_hash="h2")}, "was graded with another course secret"),
    "another schema": ({"about.json": _about(schema=2)}, "has schema 2, this grader reads 1"),
    "no JSON": ({"about.json": b"{"}, "is not a results folder: about.json: "),
    "empty": ({"about.json": b""}, "is not a results folder: about.json: "),
    "wrong type": ({"about.json": _about(schema="1")}, "is not a results folder: about.json: "),
    "more fields": ({"about.json": _about(x=1)}, "is not a results folder: about.json: "),
    "somebody's folder": ({"thesis.tex": b"x"}, "exists and is not a results folder; choose another --out"),
    "somebody's hidden file": ({".git/config": b"x"}, "exists and is not a results folder; choose another --out"),
    "a folder of that name": ({"about.json/x": b""}, "is not a results folder: about.json: "),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path, name: str, force: bool) -> None:
    """Exit code 2, the folder and the way round; --force helps with another secret only, and nothing is changed."""
    if force and name == "another secret":
        return
    files, sentence = REFUSED[name]
    root = tmp_path / "out"
    for path, data in (files | {"runs/ada/0001.json": b"old"}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    before = contents(root)

    with pytest.raises(UsageError) as caught:
        Results.create(root, "trio", "h1", force=force)

    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(f"{root} {sentence}")
    assert contents(root) == before


def test_force_takes_a_folder_over_for_a_new_secret(results: Results) -> None:
    """The runs stay; from now on the folder belongs to the new secret, and the old one is refused."""
    run_id, journal = new_run(results, "ada")
    journal.close(a_run(run_id))

    again = Results.create(results.root, "trio", "h2", force=True)

    assert again.about().seed_hash == "h2"
    assert again.runs("ada") == [a_run()]
    with pytest.raises(UsageError, match="another course secret"):
        Results.create(results.root, "trio", "h1")


def test_an_empty_or_half_made_folder_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the disk was full when it was made: the sentence says to run the same command again, so that works."""
    root = tmp_path / "deep" / "results"

    def refuse(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(EnvironmentRefused):
            Results.create(root, "trio", "h1")

    for _ in range(2):
        assert Results.create(root, "trio", "h1").about().assignment == "trio"
    (tmp_path / "empty").mkdir()
    Results.create(tmp_path / "empty", "trio", "h1")


DAMAGED: dict[str, bytes] = {
    "cut": msgspec.json.encode(a_run())[:-10],
    "empty": b"",
    "null": b"null",
    "more fields": msgspec.json.encode(a_run())[:-1] + b',"points":3}',
    "not UTF-8": msgspec.json.encode(a_run()).replace(b"2.13", b"\xff"),
    "unknown outcome": msgspec.json.encode(a_run()).replace(b'"failed"', b'"perfect"'),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_run_is_told_and_kept(results: Results, name: str) -> None:
    """Never a zero and never overwritten: exit code 3, the file and what to do."""
    path = results.root / run_path("ada", "0001")
    path.parent.mkdir(parents=True)
    path.write_bytes(DAMAGED[name])

    for read in (lambda: results.runs("ada"), lambda: results.graded(SUBMITTED, ASSIGNMENT, DIGESTS, "cpu", "process")):
        with pytest.raises(GraderError) as caught:
            read()
        assert caught.value.exit_code == 3
        assert str(caught.value).startswith(f"{path} is not a run: ")
        assert str(caught.value).endswith(" Move it away to grade this student again")
    assert path.read_bytes() == DAMAGED[name]
    assert results.runs("bob") == []


def test_a_run_that_cannot_be_read_is_told(results: Results) -> None:
    """A folder in the place of a run is as bad as a damaged file."""
    (results.root / run_path("ada", "0001")).mkdir(parents=True)
    with pytest.raises(GraderError, match="is not a run"):
        results.runs("ada")


@given(
    st.text(max_size=40)
    | st.sampled_from(["", ".", "..", "a/b", "../../etc/passwd", "CON", "ä\N{COMBINING DIAERESIS}", "x" * 300])
)
def test_no_name_leaves_its_folder(student: str) -> None:
    """Whatever a student is called, the run lies exactly one folder below `runs`."""
    parts = run_path(student, "0001").split("/")

    assert parts[0] == "runs"
    assert parts[2] == "0001.json"
    assert len(parts) == 3
    assert parts[1] == safe_name(student)
    assert parts[1] not in ("", ".", "..")


@pytest.mark.parametrize(
    "student", ["", ".", "..", "a/b", "Ada", "ada lovelace\n", "ädá", "x" * 400, "nul", "\\", "*?[0-9]"]
)
def test_names_with_odd_characters_have_runs_of_their_own(tmp_path: Path, student: str) -> None:
    """Written and read under the same name, and under no other."""
    results = Results.create(tmp_path, "trio", "h1")
    run_id, journal = new_run(results, student)
    journal.close(a_run(run_id, student=student))

    assert [run.student for run in results.runs(student)] == [student]
    assert results.runs("ada") == results.runs(f"{student}x") == []


GRADED: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {  # changes of the run, of what is asked, the answer
    "same": ({}, {}, True),
    "all passed": ({"records": tuple(record(check, Outcome.PASSED) for check in CHECKS)}, {}, True),
    "other bytes": ({"submission": "s2"}, {}, False),
    "other file": ({"file": "old.py"}, {}, False),
    "a check missing": ({"records": (record(CHECKS[0]),)}, {}, False),
    "a check more": ({"records": (*map(record, CHECKS), record("double/gone"))}, {}, True),
    "a check changed": ({}, {"digests": DIGESTS | {CHECKS[1]: "d2"}}, False),
    "a public check changed": ({}, {"digests": DIGESTS | {"double/public": "d2"}}, True),
    "our fault": ({"records": (record(CHECKS[0]), record(CHECKS[1], Outcome.GRADER_ERROR))}, {}, False),
    "skipped": ({"records": (record(CHECKS[0]), record(CHECKS[1], Outcome.SKIPPED))}, {}, True),
    "timed out": ({"records": (record(CHECKS[0]), record(CHECKS[1], Outcome.TIMED_OUT))}, {}, True),
    "not run, no GPU": ({"records": (record(CHECKS[0]), record(CHECKS[1], Outcome.NOT_RUN))}, {}, True),
    "not run, GPU": ({"records": (record(CHECKS[0]), record(CHECKS[1], Outcome.NOT_RUN))}, {"device": "cuda"}, False),
    "another student": ({}, {"student": "bob"}, False),
    "no sandbox, and now one": ({}, {"tier": "namespace"}, False),
    "a sandbox, and now none": ({"isolation": Isolation("container", ())}, {}, True),
    "a sandbox, and now another": ({"isolation": Isolation("container", ())}, {"tier": "namespace"}, True),
}


@pytest.mark.parametrize("name", GRADED)
def test_what_counts_as_graded(results: Results, name: str) -> None:
    """The newest run is of these bytes and has a current record of every hidden check that can run here."""
    changes, asked, answer = GRADED[name]
    for newest in (False, True):
        run_id, journal = new_run(results, "ada")
        journal.close(a_run(run_id, **(changes if newest else {"submission": "old"})))
    submission = msgspec.structs.replace(SUBMITTED, student=asked.get("student", "ada"))

    now = (asked.get("digests", DIGESTS), asked.get("device", "cpu"), asked.get("tier", "process"))
    assert results.graded(submission, ASSIGNMENT, *now) is answer


def test_an_older_run_of_the_same_bytes_does_not_count(results: Results) -> None:
    """Handed in, replaced, and handed in again: the newest run decides, so that it is graded again."""
    for submission in ("s1", "s2"):
        run_id, journal = new_run(results, "ada")
        journal.close(a_run(run_id, submission=submission))

    assert not results.graded(SUBMITTED, ASSIGNMENT, DIGESTS, "cpu", "process")


def test_a_journal_is_closed_when_it_is_given_up(results: Results) -> None:
    """What was written before stays readable, line by line."""
    _, journal = new_run(results, "ada")
    journal.add(record(CHECKS[0]))
    file: IO[bytes] = journal._file
    journal.abandon()

    assert file.closed
    assert msgspec.json.decode(journal.path.read_bytes(), type=Record) == record(CHECKS[0])


def modes(root: Path) -> dict[str, int]:
    """The permissions of a folder and everything below it."""
    return {path.relative_to(root.parent).as_posix(): path.stat().st_mode & 0o777 for path in (root, *root.rglob("*"))}


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """Evidence holds hidden inputs: no group and no other may look, whatever the umask; not so for other files."""
    before = os.umask(0)
    try:
        with Results.claim(tmp_path / "out", "trio", "h1") as results:
            run_id, journal = new_run(results, "ada")
            journal.add(record(CHECKS[0]))
            open_ = modes(tmp_path / "out")
            journal.close(a_run(run_id))
        write_atomically(tmp_path / "handed out", b"")
    finally:
        os.umask(before)

    assert open_.pop("out/runs/ada/0001.jsonl") == 0o600
    assert modes(tmp_path / "out") == {
        "out": 0o700, "out/.lock": 0o600, "out/about.json": 0o600, "out/runs": 0o700, "out/runs/ada": 0o700,
        "out/runs/ada/0001.json": 0o600,
    }  # fmt: skip
    assert modes(tmp_path)[f"{tmp_path.name}/handed out"] == 0o666


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_a_folder_that_was_there_keeps_its_permissions(tmp_path: Path) -> None:
    """Whoever made it for a group knows why; what is put into it is private all the same."""
    (tmp_path / "out").mkdir(0o750)
    with Results.claim(tmp_path / "out", "trio", "h1"):
        pass

    assert modes(tmp_path / "out") == {"out": 0o750, "out/.lock": 0o600, "out/about.json": 0o600, "out/runs": 0o700}


def test_a_half_written_file_takes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the rest of a file that did not fit is removed, and the old file is as it was."""
    (tmp_path / "x").write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentRefused):
        write_atomically(tmp_path / "x", b"new")

    assert contents(tmp_path) == {"x": b"old"}


HOLD = """\
import os, sys, time
from pathlib import Path
from grader.store import Results
with Results.claim(Path(sys.argv[1]), "trio", "h1") as results:
    if sys.argv[2] == "inherited" and os.fork():
        os._exit(0)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    print(os.getpid(), flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def holder(root: Path, how: str) -> Iterator[int]:
    """The process that holds a folder: the one that claimed it, or a child that has outlived it."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, root, how], stdout=subprocess.PIPE)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        if how == "inherited":
            process.wait(10)
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        process.stdout.close()
        process.wait(10)


locks = pytest.mark.skipif(sys.platform == "win32", reason="nobody grades there")


@locks
@pytest.mark.parametrize("how", ["own", "inherited"])
def test_a_folder_is_claimed_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Exit code 5, who has it and what to do; also while only a child lives; nothing in it is changed meanwhile."""
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.2)
    root = tmp_path / "out"
    with holder(root, how) as pid:
        before = contents(root)
        with pytest.raises(EnvironmentRefused) as caught, Results.claim(root, "trio", "h2", force=True):
            pass
        assert contents(root) == before

    assert caught.value.exit_code == 5
    told = str(caught.value)
    assert told.startswith(f"{root} is being graded by another `grade` (process ")
    assert how == "inherited" or f"(process {pid} on " in told
    assert "UTC" in told and "run the same command again" in told


@locks
@pytest.mark.parametrize("how", ["own", "inherited"])
def test_a_killed_holder_locks_nobody_out(tmp_path: Path, how: str) -> None:
    """The kernel lets go with the last process, and the next one waits for that; what lies in the file is nothing."""
    root = tmp_path / "out"
    with holder(root, how) as pid:
        os.kill(pid, 9)
        with Results.claim(root, "trio", "h1") as results:
            assert results.about().assignment == "trio"
            assert f"process {os.getpid()} on " in (root / ".lock").read_text(encoding="utf-8")
    assert (root / ".lock").exists()
    (root / ".lock").write_bytes(b"process 1 on nowhere " * 100)
    with Results.claim(root, "trio", "h1") as results:
        assert (root / ".lock").stat().st_size < 200
        assert not os.get_inheritable(results.lock)  # but for slots, to whom it is handed


@locks
def test_a_claim_waits_for_a_holder_that_is_dying(tmp_path: Path) -> None:
    """A killed `grade` is outlived by its slots for a moment; a second one does not give up at once."""
    script = HOLD.replace("time.sleep(60)", "time.sleep(0.7)")
    with subprocess.Popen([sys.executable, "-c", script, tmp_path, "own"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start = time.monotonic()
        with Results.claim(tmp_path, "trio", "h1"):
            waited = time.monotonic() - start

    assert 0.1 < waited < store.LOCK_SECONDS


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_that_is_not_ours_is_not_claimed(tmp_path: Path, name: str) -> None:
    """Not even a lock is left in it."""
    files, sentence = REFUSED[name]
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)

    with pytest.raises(UsageError) as caught, Results.claim(tmp_path, "trio", "h1"):
        pass

    assert str(caught.value).startswith(f"{tmp_path} {sentence}")
    assert contents(tmp_path) == files


@locks
@pytest.mark.parametrize("number", FULL, ids=errno.errorcode.get)
@pytest.mark.parametrize("at", ["open", "pwrite", "flock", "mkdir"])
def test_a_disk_that_refuses_a_lock_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, at: str
) -> None:
    """Exit code 5 and the file; with room again the same claim succeeds."""

    fcntl = pytest.importorskip("fcntl")

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl if at == "flock" else os, at, refuse)
        with pytest.raises(EnvironmentRefused) as caught, Results.claim(tmp_path / "out", "trio", "h1"):
            pass

    assert caught.value.exit_code == 5
    assert str(caught.value).startswith(f"cannot write {tmp_path / 'out'}")
    assert os.strerror(number) in str(caught.value)
    with Results.claim(tmp_path / "out", "trio", "h1") as results:
        assert results.everybody() == {}


def test_who_has_only_an_interrupted_run_is_nobody_yet(results: Results) -> None:
    """Neither a zero nor anything else: the others are there, this student is not."""
    _, journal = new_run(results, "eve")
    journal.add(record(CHECKS[0]))
    journal.abandon()
    run_id, journal = new_run(results, "ada")
    journal.close(a_run(run_id))

    assert list(results.everybody()) == ["ada"]
    assert results.runs("eve") == []
