"""Checks at home: the student's file against the public checks, and a sentence for everything that is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from grader import local, spec
from grader.diagnose import read_signatures
from grader.errors import GraderError, UnreadableSubmission, UsageError
from grader.handle import LocalHandle
from grader.manifest import read_table
from grader.model import Check, MistakeFound, Outcome
from grader.release import build, write
from grader.session import Observation
from tests import assignment_builder
from tests.arena import sign
from tests.assignment_builder import FILES
from tests.test_release import MORE_PUBLIC, MORE_TOML, PUBLIC, SOLUTION, TOML

THIRD = '\n[exercises.third]\ntitle = "A third"\npoints = 1\n[checks."third/hidden"]\npoints = 1\n'
THIRD_CHECK = '''

@pytest.mark.check("third")
def test_hidden(student, reference):
    """A third"""
    student.third(torch.ones(1))
'''
HIDDEN = "assignments/halves/checks/hidden/test_large.py"
IDS = ["half/small", "quarter/first", "quarter/some"]
PROBES = """\
import torch
from grader.probe import call
PROBES = {
    "half": {"pair": call(torch.tensor([1.0, 5.0]))},
    "quarter": {"small": call(torch.tensor([4.0])), "large": call(torch.tensor([1000.0]))},
}
"""
SMALL = "x * 0.5 if x.abs().max() < 100 else x * 0.25"
MISTAKES = {
    ("half", "kept"): "def half(x): return x",
    ("quarter", "small-halved"): f"def quarter(x): return {SMALL}",
    ("quarter", "large-kept"): "def quarter(x): return x * 0.25 if x.abs().max() < 100 else x",
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with three public checks, one of which needs another, and an exercise that has none."""
    course = tmp_path_factory.mktemp("course")
    overrides = {
        PUBLIC: FILES[PUBLIC] + MORE_PUBLIC,
        HIDDEN: FILES[HIDDEN] + THIRD_CHECK,
        TOML: FILES[TOML] + MORE_TOML + THIRD,
        SOLUTION: FILES[SOLUTION] + "\n\ndef third(x):\n    return x / 3\n",
    }
    assignment = assignment_builder.build(course, overrides)
    sign(assignment, PROBES, MISTAKES)
    write(build(spec.load(assignment)), course / "release")
    return course / "release"


@pytest.fixture
def folder(released: Path, tmp_path: Path) -> Path:
    """A student's copy of it."""
    return Path(shutil.copytree(released, tmp_path / "mine"))


def solve(folder: Path, half: str = "x * 0.5", quarter: str = "x * 0.25") -> None:
    """Fill in the stub."""
    stub = (folder / "halves.py").read_text(encoding="utf-8")
    for name, expression in (("half", half), ("quarter", quarter)):
        stub = stub.replace(f'raise NotImplementedError("{name}")', f"return {expression}")
    (folder / "halves.py").write_text(stub, encoding="utf-8")


def checked(
    path: Path, only: str | None = None, *, stop_at_first: bool = False
) -> tuple[dict[str, Outcome], dict[str, Observation]]:
    """Outcomes in the order in which they were told, and the observations."""
    told: dict[str, Outcome] = {}

    def tell(check: Check, seen: Observation, mistakes: tuple[MistakeFound, ...]) -> None:
        told[check.id] = seen.outcome

    table, seen, _ = local.check(path, only, stop_at_first, tell)
    assert list(told) == list(seen)
    assert table.assignment.id == "halves"
    return told, seen


def named(path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The sentences told with each check that did not pass, and those of all of them."""
    told: dict[str, list[str]] = {}

    def tell(check: Check, seen: Observation, mistakes: tuple[MistakeFound, ...]) -> None:
        if seen.outcome is not Outcome.PASSED:
            told[check.id] = [mistake.message for mistake in mistakes]

    _, _, found = local.check(path, None, False, tell)
    return told, [mistake.message for mistake in found]


def test_a_stub_is_not_written_yet(folder: Path) -> None:
    """Each first check of an exercise says so, where, and with which input; what builds on one is not tried."""
    told, seen = checked(folder)

    assert told == dict(zip(IDS, (Outcome.ERRORED, Outcome.ERRORED, Outcome.SKIPPED), strict=True))
    evidence = seen["half/small"].evidence
    assert evidence is not None
    assert evidence.message == "`half` is not written yet: it raises NotImplementedError"
    assert evidence.line == next(
        number
        for number, line in enumerate((folder / "halves.py").read_text("utf-8").splitlines(), 1)
        if 'Error("half' in line
    )
    assert evidence.input == "half([1, 2, 3] float32[3])"
    assert seen["quarter/some"].evidence is None


def test_a_solved_file_passes_wherever_it_is_named_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its folder, by the file, by a relative path, and through another file in the folder."""
    solve(folder)
    passed = dict.fromkeys(IDS, Outcome.PASSED)
    shutil.copy(folder / "halves.py", folder / "second try.py")
    monkeypatch.chdir(folder)

    for path in (folder, folder / "halves.py", Path(), Path("halves.py"), folder / "second try.py"):
        assert checked(path)[0] == passed


def test_half_of_it(folder: Path) -> None:
    """A wrong function fails its own checks with the numbers to see why, since these are public."""
    solve(folder, quarter="x * 0.5")
    told, seen = checked(folder)

    assert told == dict(zip(IDS, (Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED), strict=True))
    evidence = seen["quarter/first"].evidence
    assert evidence is not None
    assert (evidence.kind, evidence.expected, evidence.got) == ("inexact", "[0.25] float32[1]", "[0.5] float32[1]")


def test_only_and_stop(folder: Path) -> None:
    """`only` runs one exercise, `-x` ends with the first check that does not pass."""
    assert list(checked(folder, "quarter")[0]) == ["quarter/first", "quarter/some"]
    assert checked(folder, stop_at_first=True)[0] == {"half/small": Outcome.ERRORED}
    solve(folder, quarter="x")
    assert list(checked(folder, stop_at_first=True)[0]) == ["half/small", "quarter/first"]


def test_an_exercise_without_public_checks_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero of zero would sound like a pass; and tests that lie in the current directory are not collected."""
    monkeypatch.chdir(folder)
    (folder / "test_mine.py").write_text("raise SystemExit('collected')\n", encoding="utf-8")

    with pytest.raises(UsageError, match="`third` has no public checks; hidden ones will grade it"):
        checked(folder, "third")


def test_an_unknown_exercise_is_told(folder: Path) -> None:
    """With the names that there are."""
    with pytest.raises(UsageError) as caught:
        checked(folder, "halve")

    assert str(caught.value) == "there is no exercise `halve`; this assignment has: half, quarter, third"
    assert caught.value.exit_code == 2


def test_a_folder_that_is_no_release_is_told(tmp_path: Path, folder: Path) -> None:
    """Named itself, or through a file in it; exit code 2."""
    (tmp_path / "halves.py").write_text("", encoding="utf-8")
    for path, where in (
        (tmp_path, tmp_path),
        (tmp_path / "halves.py", tmp_path),
        (folder / "checks", folder / "checks"),
    ):
        with pytest.raises(UsageError) as caught:
            checked(path)
        assert str(caught.value) == (
            f"{where} is not a release folder: it has no manifest.json. "
            "Go to the folder you were given, or name a file in it"
        )
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["halves.py", "halfs.py", "halves"])
def test_a_missing_file_is_told(folder: Path, name: str) -> None:
    """Also one that was only mistyped, although the right one is there: exit code 4."""
    if name == "halves.py":
        (folder / name).unlink()
    with pytest.raises(UnreadableSubmission) as caught:
        checked(folder if name == "halves.py" else folder / name)

    assert str(caught.value) == f"{name} is missing in {folder}"
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (b"def half(x):\n    return x\ndef quarter(x:\n    return x\n", "line 3"),
        (b"", "halves.py"),
        (b"x = 1\n\0", "halves.py"),
    ],
)
def test_a_file_that_is_no_python_is_told(folder: Path, source: bytes, sentence: str) -> None:
    """Exit code 4, with the line where there is one; nothing is run."""
    (folder / "halves.py").write_bytes(source)
    with pytest.raises(UnreadableSubmission) as caught:
        checked(folder)

    assert "halves.py" in str(caught.value)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_file_that_raises_at_the_top_keeps_the_rest(folder: Path) -> None:
    """What is defined elsewhere is checked; a missing name is told with the line that failed."""
    solve(folder)
    text = (folder / "halves.py").read_text(encoding="utf-8").replace("def quarter", "1 / 0\ndef quartr")
    (folder / "halves.py").write_text(text, encoding="utf-8")
    told, seen = checked(folder)

    assert told == dict(zip(IDS, (Outcome.PASSED, Outcome.ERRORED, Outcome.SKIPPED), strict=True))
    evidence = seen["quarter/first"].evidence
    assert evidence is not None
    line = text.splitlines().index("1 / 0") + 1
    assert evidence.message.endswith(f"defines no function `quarter`; line {line} failed when the file was loaded")


def test_ctrl_c_reaches_the_caller(folder: Path) -> None:
    """Pressed in a loop of the student's function, it ends the command and nothing is told as failed."""
    solve(folder, half="(_ for _ in ()).throw(KeyboardInterrupt)")
    with pytest.raises(KeyboardInterrupt):
        checked(folder)


DAMAGES: dict[str, list[bytes | None]] = {
    "checks/checks.json": [b"", b"{", b"[]", b'{"schema": 1}', b"\xff", None],
    "checks/expected.json": [b"", b"{", b"[]", b'{"a": 1}', b"\xff", None],
    "checks/test_small.py": [None],
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, all_ in DAMAGES.items() for data in all_])
def test_a_damaged_release_is_told(folder: Path, name: str, data: bytes | None) -> None:
    """The file, what is wrong, and that a fresh copy helps; exit code 2."""
    if data is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        checked(folder)

    assert str(caught.value).startswith(f"{folder / name} ")
    assert str(caught.value).endswith(". Get a fresh copy of the release")
    assert caught.value.exit_code == 2


def test_another_schema_is_told(folder: Path) -> None:
    """A release of a later version is refused as such."""
    path = folder / "checks" / "checks.json"
    path.write_bytes(path.read_bytes().replace(b'"schema": 1', b'"schema": 2', 1))
    with pytest.raises(UsageError, match=r"has schema 2, this grader reads 1"):
        checked(folder)


@pytest.mark.parametrize("data", [b"{}", b'{"half:0": "AAAA"}'])
def test_answers_that_are_not_there_are_our_fault(folder: Path, data: bytes) -> None:
    """A check that was changed asks for an answer that did not come along: never the student's failure."""
    solve(folder)
    (folder / "checks" / "expected.json").write_bytes(data)
    told, seen = checked(folder)

    assert told["half/small"] is Outcome.GRADER_ERROR
    evidence = seen["half/small"].evidence
    assert evidence is not None
    assert "was a check changed?" in evidence.detail


def test_a_check_that_cannot_be_collected_is_told(folder: Path) -> None:
    """A check file that the student has broken is named."""
    with (folder / "checks" / "test_small.py").open("a", encoding="utf-8") as file:
        file.write("\nimport no_such_module\n")
    with pytest.raises(GraderError, match=r"checks/test_small\.py cannot be collected") as caught:
        checked(folder)
    assert caught.value.exit_code == 2


# Mistakes


def test_a_known_mistake_is_named_with_the_check_that_failed(folder: Path) -> None:
    """The sentence of the gallery, once among all that were found; a check that passed or was skipped has none."""
    solve(folder, half="x")
    assert named(folder) == ({"half/small": ["The mistake kept in half."]}, ["The mistake kept in half."])

    (folder / "halves.py").write_text("def half(x): return x\ndef quarter(x): return x * 0.75\n", encoding="utf-8")
    told, found = named(folder)
    assert told == {"half/small": ["The mistake kept in half."], "quarter/first": [], "quarter/some": []}
    assert found == ["The mistake kept in half."]


def test_two_known_mistakes_are_both_named(folder: Path) -> None:
    """One in the check that failed, the other where no public check looks."""
    solve(folder, quarter="x * 0.5 if x.abs().max() < 100 else x")
    both = ["The mistake large-kept in quarter.", "The mistake small-halved in quarter."]

    assert named(folder) == ({"quarter/first": both, "quarter/some": []}, both)


def test_a_mistake_is_told_with_each_check_and_counted_once(folder: Path) -> None:
    """Two checks of one exercise fail: both say why, and it is one mistake."""
    path = folder / "checks" / "checks.json"
    table = read_table(folder)
    apart = tuple(msgspec.structs.replace(check, needs=()) for check in table.assignment.checks)
    table = msgspec.structs.replace(table, assignment=msgspec.structs.replace(table.assignment, checks=apart))
    path.write_bytes(msgspec.json.encode(table))
    solve(folder, quarter=SMALL)
    sentence = "The mistake small-halved in quarter."

    assert named(folder) == ({"quarter/first": [sentence], "quarter/some": [sentence]}, [sentence])


def test_nothing_is_named_that_is_not_known(folder: Path) -> None:
    """Not for full marks, nor for what is not written yet, missing or wrong in its own way."""
    assert named(folder)[1] == []
    solve(folder)
    assert named(folder) == ({}, [])
    (folder / "halves.py").write_text("def quarter(x): return x * 0.25\n", encoding="utf-8")
    assert named(folder) == ({"half/small": []}, [])


def test_a_release_without_signatures_names_nothing(folder: Path) -> None:
    """An assignment may come without probes."""
    (folder / "checks" / "signatures.json").unlink()
    solve(folder, half="x")

    assert named(folder) == ({"half/small": []}, [])


def test_probes_are_asked_once_for_each_exercise_that_failed(released: Path) -> None:
    """However many of its checks fail; and never of what has its own sentence already."""
    source = (
        "calls = []\ndef half(x):\n    calls.append(1)\n    return x\ndef count(): return len(calls)\nquarter = half\n"
    )
    handle = LocalHandle(source, "halves.py")
    diagnoses = local.Diagnoses(handle, read_signatures(released / "checks"))

    for kind in ("not_implemented", "missing", "forbidden"):
        assert diagnoses.of("half", kind) == ()
    assert handle.count() == 0
    for _ in range(3):
        assert [found.id for found in diagnoses.of("half", "inexact")] == ["kept"]
    assert handle.count() == 1
    assert diagnoses.of("quarter", "raised") == ()
    assert handle.count() == 3  # two probes
    assert diagnoses.of("half", "not_implemented") == ()  # known by now, and yet this check is not explained by it


def test_what_is_forbidden_is_forbidden_at_home(tmp_path: Path) -> None:
    """The same sentence as from grading, with the line in the student's file; no mistake is named beside it."""
    toml = FILES[TOML].replace('title = "Half of everything"', 'title = "t"\nforbidden = ["softmax"]')
    assignment = assignment_builder.build(tmp_path, {TOML: toml})
    sign(assignment, PROBES, MISTAKES)
    write(build(spec.load(assignment)), tmp_path / "release")
    folder = tmp_path / "release"
    solve(folder, half="torch.softmax(x, -1)")

    told, seen = checked(folder, "half")

    assert told == {"half/small": Outcome.FAILED}
    line = (folder / "halves.py").read_text(encoding="utf-8").splitlines().index("    return torch.softmax(x, -1)") + 1
    evidence = seen["half/small"].evidence
    assert evidence is not None
    assert (evidence.kind, evidence.line) == ("forbidden", line)
    assert f"`half` uses the library's `softmax` in line {line} of " in evidence.message
    assert named(folder)[1] == []
