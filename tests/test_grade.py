"""A class graded from the command's own function: every entry told, nothing lost, nothing graded twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import msgspec
import pytest

from grader.errors import EnvironmentRefused, SpecError, UsageError
from grader.grade import SLOT, GradeReport, grade, scores_document
from grader.model import Isolation, Run
from grader.secret import course_secret, hash_of
from grader.store import Results
from tests.arena import SOLVED, trio

MESSY: dict[str, str | bytes] = {
    "solved.py": SOLVED,
    "stub.py": SOLVED.replace("return x * 2", "raise NotImplementedError")
    .replace("return x * 3", "raise NotImplementedError")
    .replace("return -x", "raise NotImplementedError"),
    "wrong.py": SOLVED.replace("x * 3", "x * 4"),
    "bom.py": b"\xef\xbb\xbf" + SOLVED.encode(),
    "crlf.py": SOLVED.replace("\n", "\r\n"),
    "latin1.py": b"# Andr\xe9\n" + SOLVED.encode(),
    "syntax.py": SOLVED.replace("def triple(x):", "def triple(x)"),
    "empty.py": "",
    "nul.py": SOLVED + "\0",
    "loops_on_import.py": SOLVED + "while True: pass\n",
    "folder/trio.py": SOLVED,
    "nested/inner/deeper/trio.py": SOLVED,
    "renamed/my_work.py": SOLVED,
    "nothing/readme.txt": "sorry",
    "größe & co/trio.py": SOLVED,
}
POINTS = {
    "solved": 6, "stub": 0, "wrong": 4, "bom": 6, "crlf": 6, "latin1": 6, "syntax": 0, "empty": 0, "nul": 0,
    "loops_on_import": 6, "folder": 6, "nested": 6, "renamed": 6, "nothing": 0, "größe & co": 6, "zipped": 6,
}  # fmt: skip


def hand_in(root: Path, files: dict[str, str | bytes]) -> Path:
    """A folder of submissions."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def graded(course: Path, paths: list[Path], out: Path, *, jobs: int = 1, force: bool = False) -> GradeReport:
    """One ``grade`` in the process tier."""
    return grade(course, "trio", paths, out, jobs=jobs, tier="process", accept_unsandboxed=True, force=force)


class MessyClass:
    """The messy class, graded once."""

    def __init__(self, root: Path) -> None:
        self.course, self.handed_in, self.out = root, hand_in(root / "handed in", MESSY), root / "results"
        with zipfile.ZipFile(self.handed_in / "zipped.zip", "w") as archive:
            archive.writestr("zipped/trio.py", SOLVED)
        trio(root)
        self.report = graded(root, [self.handed_in], self.out, jobs=2)


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> MessyClass:
    """Submissions broken in every usual way."""
    return MessyClass(tmp_path_factory.mktemp("course"))


def test_every_entry_scores_as_it_deserves(messy: MessyClass) -> None:
    """The maximum is the same for all, and nobody is missing."""
    assert {score.student: score.points for score in messy.report.scores} == POINTS
    assert {score.max_points for score in messy.report.scores} == {6.0}
    assert messy.report.errors == () and messy.report.exit_code == 0


@pytest.mark.parametrize(
    ("student", "sentence"),
    [
        ("syntax", "line 10, column 14"),
        ("empty", "empty"),
        ("nul", "NUL"),
        ("nothing", "trio.py"),
    ],
)
def test_an_unusable_file_is_told_in_a_sentence(messy: MessyClass, student: str, sentence: str) -> None:
    """Every check of it carries the reason, and the run has it as its problem."""
    score = next(score for score in messy.report.scores if score.student == student)
    run = msgspec.json.decode((messy.out / score.run).read_bytes(), type=Run)

    assert sentence in run.problem
    assert all(run.problem in check.message for check in score.checks)


@pytest.mark.parametrize(
    ("student", "word"), [("latin1", "UTF-8"), ("renamed", "my_work.py"), ("loops_on_import", "line")]
)
def test_what_was_mended_silently_elsewhere_is_a_warning_here(messy: MessyClass, student: str, word: str) -> None:
    """A wrong encoding, a wrong name, a statement left out: graded, and said."""
    score = next(score for score in messy.report.scores if score.student == student)
    run = msgspec.json.decode((messy.out / score.run).read_bytes(), type=Run)

    assert any(word in warning for warning in run.warnings)


def test_the_json_document_is_strict_and_as_fixed(messy: MessyClass) -> None:
    """Keys, their order and their types are what programs outside rely on."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    document = json.loads(scores_document(messy.report), parse_constant=refuse)

    assert list(document) == ["schema", "assignment", "scores"]
    assert (document["schema"], document["assignment"]) == (1, "trio")
    first = document["scores"][0]
    assert list(first) == [
        "student", "points", "max_points", "bonus", "pending_points", "run", "checks", "mistakes",
    ]  # fmt: skip
    assert list(first["checks"][0]) == ["id", "exercise", "outcome", "points", "max_points", "stretch", "message"]
    assert all((messy.out / score["run"]).is_file() for score in document["scores"])
    assert (messy.out / "scores.json").read_bytes() == scores_document(messy.report)


def test_a_second_grade_runs_nothing_and_says_so(messy: MessyClass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same bytes, same checks: every entry is skipped, no slot is started, and every score is as before."""
    monkeypatch.setattr("grader.grade.SLOT", "raise SystemExit(9)")
    again = graded(messy.course, [messy.handed_in], messy.out)

    assert set(again.skipped) == set(POINTS)
    assert (again.ungraded, again.errors) == ((), ())
    assert scores_document(again) == scores_document(messy.report)


def test_a_changed_file_and_a_changed_check_are_graded_again(messy: MessyClass, tmp_path: Path) -> None:
    """The earlier runs stay; the new ones lie beside them."""
    shutil.copytree(messy.course, tmp_path / "course")
    course = tmp_path / "course"
    (course / "handed in" / "wrong.py").write_text(SOLVED, encoding="utf-8")

    first = graded(course, [course / "handed in"], course / "results")

    assert set(POINTS) - set(first.skipped) == {"wrong"}
    assert sorted(path.name for path in (course / "results/runs/wrong").iterdir()) == ["0001.json", "0002.json"]
    assert next(score.points for score in first.scores if score.student == "wrong") == 6


def test_the_order_and_number_of_slots_change_no_score(messy: MessyClass, tmp_path: Path) -> None:
    """One slot and the reverse order give what two slots gave, times apart."""
    names = ["solved.py", "wrong.py", "stub.py"]
    trio(tmp_path)
    shutil.copytree(messy.course / ".grader", tmp_path / ".grader")

    other = graded(tmp_path, [messy.handed_in / name for name in reversed(names)], tmp_path / "out")

    before = {score.student: score.checks for score in messy.report.scores}
    assert {score.student: score.checks for score in other.scores} == {
        name: before[name] for name in ("solved", "wrong", "stub")
    }


def test_the_secret_is_made_once_with_a_notice(tmp_path: Path) -> None:
    """It is told where it lies; its hash, never itself, stands in the runs."""
    course = trio(tmp_path).parent.parent
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    notices: list[str] = []

    grade(
        course,
        "trio",
        [entries],
        tmp_path / "out",
        jobs=1,
        tier="process",
        accept_unsandboxed=True,
        notice=notices.append,
    )
    secret = (tmp_path / ".grader" / "secret").read_text(encoding="ascii").strip()

    assert len(notices) == 1 and "secret" in notices[0]
    assert (tmp_path / ".grader" / "secret").stat().st_mode & 0o077 == 0
    assert not any(secret in path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.json"))


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"assignment_id": "tri"}, UsageError, "trio"),
        ({"tier": "jail"}, UsageError, "jail"),
        ({"accept_unsandboxed": False}, EnvironmentRefused, "--accept-unsandboxed"),
        ({"paths": []}, UsageError, "no submissions"),
        ({"paths": [Path("/nowhere/at/all")]}, UsageError, "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(
    tmp_path: Path, change: dict[str, object], error: type[Exception], sentence: str
) -> None:
    """No results folder is made, no secret, nothing is graded."""
    trio(tmp_path)
    arguments: dict[str, object] = {
        "course": tmp_path, "assignment_id": "trio", "paths": [hand_in(tmp_path / "in", {"ada.py": SOLVED})],
        "out": tmp_path / "out", "jobs": 1, "tier": "process", "accept_unsandboxed": True,
    }  # fmt: skip

    with pytest.raises(error, match=sentence):
        grade(**(arguments | change))  # type: ignore[arg-type]

    assert not (tmp_path / "out").exists() and not (tmp_path / ".grader").exists()


def test_checks_that_cannot_be_collected_stop_the_grading_with_their_reason(tmp_path: Path) -> None:
    """One sentence about the check file, not one grader error per student."""
    folder = trio(tmp_path)
    path = folder / "checks" / "hidden" / "test_trio.py"
    path.write_text("import no_such_module\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": SOLVED})

    with pytest.raises(SpecError, match="no_such_module"):
        graded(tmp_path, [entries], tmp_path / "out", jobs=2)


def fake_slot(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Slots that do ``body`` for each task instead of grading it: `task` is what they are told, `out` is RESULTS."""
    head = "import json, os, sys\nfrom pathlib import Path\nout = Path(json.loads(sys.stdin.readline())['results'])\n"
    loop = "for task in map(json.loads, sys.stdin):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    monkeypatch.setattr("grader.grade.SLOT", head + loop)


@pytest.mark.parametrize("said", ["[]", "null", "\\xff", '{"student": "eve"}', '{"student": 1}', ""], ids=repr)
def test_what_is_no_answer_does_not_count_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """A submission without a sandbox can write where a slot answers: tried again, then told, and never silence."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": SOLVED})
    fake_slot(monkeypatch, f"os.write(1, b'{said}\\n')\nos._exit(7)")

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert {score.student: score.pending_points for score in report.scores} == {"ada": 6.0, "bob": 6.0}
    assert (report.exit_code, [student for student, _ in report.errors]) == (3, ["ada", "bob"])
    assert all("ended the grading process twice" in sentence for _, sentence in report.errors)


def test_a_fault_of_ours_is_tried_again_in_another_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first might have been chance; the second is told in its own words, and the points are pending."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    fake_slot(
        monkeypatch,
        """
        (out / f"slot-{os.getpid()}").touch()
        print(json.dumps({"student": task["student"], "error": "the zygote is gone", "exit_code": 3}), flush=True)
        """,
    )

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert len(list((tmp_path / "out").glob("slot-*"))) == 2
    assert report.errors == (("ada", "grading `ada` failed twice: the zygote is gone; its points are pending"),)
    assert (report.exit_code, report.scores[0].pending_points) == (3, 6.0)


def test_a_full_disk_leaves_the_rest_without_a_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No further entry is tried; who was not graded is named, and is no zero."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": SOLVED})
    fake_slot(
        monkeypatch,
        """
        (out / task["student"]).touch()
        print(json.dumps({"student": task["student"], "error": "cannot write", "exit_code": 5}), flush=True)
        """,
    )

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert (report.exit_code, report.errors) == (5, (("ada", "cannot write"),))
    assert (report.scores, report.ungraded) == ((), ("ada", "bob"))
    assert not (tmp_path / "out" / "bob").exists()


def test_giving_up_on_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run without a verdict cannot be written either: exit code 5, and the student has no score."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": SOLVED})
    fake_slot(monkeypatch, "(out / 'runs' / 'ada').touch()\nos._exit(7)")  # a file where the folder must be

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert (report.exit_code, report.ungraded) == (5, ("ada", "bob"))
    assert len(report.errors) == 1 and report.errors[0][1].startswith("cannot write ")


def test_a_slot_whose_grade_has_died_before_it_began_does_nothing(tmp_path: Path) -> None:
    """The kernel tells of a death that comes later; of one that came before, its parent's number does."""
    command = [sys.executable, "-c", SLOT]

    orphan = subprocess.run([*command, "1"], input=b"no job\n", capture_output=True, check=False, cwd=tmp_path)
    child = subprocess.run([*command, str(os.getpid())], input=b"no job\n", capture_output=True, check=False)

    assert (orphan.returncode, orphan.stdout, orphan.stderr) == (0, b"", b"")
    assert child.returncode == 1 and b"DecodeError" in child.stderr  # it has read what it was told


@pytest.mark.slow
@pytest.mark.parametrize("always", [False, True])
def test_a_slot_that_dies_before_it_says_so_has_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, always: bool
) -> None:
    """A closed run counts whatever became of the slot: it is neither run again nor covered by one without a verdict."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    dying = """
    from grader import job, slot
    def Done(student, **more):
        if not os.path.exists("MARK") or ALWAYS:
            open("MARK", "w").close()
            os._exit(9)
        return job.Done(student, **more)
    slot.Done = Done
    """
    dying = dying.replace("MARK", str(tmp_path / "mark")).replace("ALWAYS", str(always))
    monkeypatch.setattr("grader.grade.SLOT", "import os\n" + textwrap.dedent(dying) + "slot.main()\n")

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert (report.exit_code, report.errors, report.scores[0].points) == (0, (), 6.0)
    assert [path.name for path in (tmp_path / "out" / "runs" / "ada").iterdir()] == ["0001.json"]


@pytest.mark.parametrize("force", [False, True])
def test_a_damaged_run_of_one_student_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """It is told with exit code 3 and left as it is; nothing of that student is run."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": SOLVED})
    with Results.claim(tmp_path / "out", "trio", hash_of(course_secret(tmp_path)[0])):
        path = tmp_path / "out" / "runs" / "bob" / "0001.json"
        path.parent.mkdir()
        path.write_bytes(b"{")
    fake_slot(monkeypatch, "print(json.dumps({'student': task['student']}), flush=True)")

    report = graded(tmp_path, [entries], tmp_path / "out", force=force)

    assert report.exit_code == 3
    assert [student for student, _ in report.errors] == ["bob"]
    assert report.errors[0][1].startswith(f"{path} is not a run")
    assert [child.name for child in path.parent.iterdir()] == ["0001.json"]
    assert path.read_bytes() == b"{"


def test_two_at_once_are_one_and_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything runs, and with nothing written; once the first has finished, the second does its work."""
    monkeypatch.setattr("grader.store.LOCK_SECONDS", 0.1)
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    fake_slot(monkeypatch, "os._exit(7)")
    with Results.claim(tmp_path / "out", "trio", hash_of(course_secret(tmp_path)[0])):
        with pytest.raises(EnvironmentRefused, match="is being graded by another `grade`"):
            graded(tmp_path, [entries], tmp_path / "out")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".lock", "about.json", "runs"]

    assert graded(tmp_path, [entries], tmp_path / "out").exit_code == 3


@pytest.mark.parametrize(("asked", "again"), [("process", False), ("namespace", True)])
def test_a_run_without_a_sandbox_does_not_count_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, again: bool
) -> None:
    """It could have written its own verdict; the other way round nothing is run again."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    graded(tmp_path, [entries], tmp_path / "out")
    monkeypatch.setattr("grader.grade.require", lambda tier, accept_unsandboxed: Isolation(tier, ()))
    fake_slot(monkeypatch, "(out / 'tried').touch()\nprint(json.dumps({'student': task['student']}), flush=True)")

    report = grade(tmp_path, "trio", [entries], tmp_path / "out", jobs=1, tier=asked, accept_unsandboxed=True)

    assert (tmp_path / "out" / "tried").exists() is again
    assert report.skipped == (() if again else ("ada",))


@pytest.mark.slow
def test_an_entry_that_ends_the_grading_process_does_not_end_the_class(tmp_path: Path) -> None:
    """Its slot is replaced, it is tried once more, told as our error, and all others are graded."""
    folder = trio(tmp_path)
    path = folder / "checks" / "hidden" / "test_trio.py"
    trap = "    if student._source.startswith('# trap'): __import__('os')._exit(7)\n    x = torch.tensor([1.5])\n"
    path.write_text(path.read_text(encoding="utf-8").replace("    x = torch.tensor([1.5])\n", trap), encoding="utf-8")
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": "# trap\n" + SOLVED, "eve.py": SOLVED})

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert {score.student: (score.points, score.pending_points) for score in report.scores} == {
        "ada": (6.0, 0.0),
        "bob": (0.0, 6.0),
        "eve": (6.0, 0.0),
    }
    assert report.exit_code == 3
    assert [student for student, _ in report.errors] == ["bob"]
    assert "status 7" in report.errors[0][1]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A submission that is a link to another's file earns nothing and says why."""
    trio(tmp_path)
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED})
    os.symlink(entries / "ada.py", entries / "eve.py")

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert {score.student: score.points for score in report.scores} == {"ada": 6.0, "eve": 0.0}
    assert "link" in next(score for score in report.scores if score.student == "eve").checks[0].message


@pytest.mark.slow
def test_a_stopped_slot_does_not_stop_the_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission that stops the grading process costs its own points their verdict, and nobody else's."""
    monkeypatch.setattr("grader.grade._patience", lambda assignment: 9.0)
    trio(tmp_path)
    stop = "import os\nwith open(f'/proc/{os.getppid()}/stat') as f: os.kill(int(f.read().split()[3]), 19)\n"
    entries = hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": stop + SOLVED, "eve.py": SOLVED})

    report = graded(tmp_path, [entries], tmp_path / "out")

    assert {score.student: score.points for score in report.scores} == {"ada": 6.0, "bob": 0.0, "eve": 6.0}
    assert [student for student, _ in report.errors] == ["bob"]


DAEMON = """
import os, signal, time

def hunt():
    zygote = os.getppid()
    slot = int(open(f"/proc/{zygote}/stat").read().split()[3])
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        until = time.time() + 40
        while time.time() < until:
            for task in os.listdir(f"/proc/{slot}/task"):
                for pid in open(f"/proc/{slot}/task/{task}/children").read().split():
                    if int(pid) != os.getpid():
                        os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.01)
        os._exit(0)
"""


@pytest.mark.slow
def test_what_kills_every_zygote_is_ended_with_its_submission(tmp_path: Path) -> None:
    """A detached process that hunts the grader's children is found once it is an orphan; the next student is graded."""
    trio(tmp_path)
    hunter = DAEMON + SOLVED.replace("return x * 3", "hunt(); return x * 3")
    hand_in(tmp_path / "in", {"ada.py": SOLVED, "bob.py": hunter, "eve.py": SOLVED, "zoe.py": SOLVED})
    command = [sys.executable, "-m", "grader", "grade", "trio", "in", "--out", "out", "--jobs", "1"]

    subprocess.run([*command, "--isolation", "process", "--accept-unsandboxed"], cwd=tmp_path, check=False)
    scores = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))["scores"]

    points = {score["student"]: score["points"] for score in scores}
    assert {name: points.get(name) for name in ("ada", "eve", "zoe")} == dict.fromkeys(("ada", "eve", "zoe"), 6.0)
