"""A release is what students may have, made alike everywhere, and nothing of what they may not."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader import spec, wire
from grader.errors import SpecError
from grader.manifest import Manifest, Table, read_table
from grader.release import build, differences, foreign, write
from grader.stubs import make_stub
from tests import assignment_builder
from tests.assignment_builder import FILES

TOML = "assignments/halves/assignment.toml"
PUBLIC = "assignments/halves/checks/public/test_small.py"
HIDDEN = "assignments/halves/checks/hidden/test_large.py"
HANDOUT = "assignments/halves/handout.md"
REFERENCE = "assignments/halves/reference.py"
SOLUTION = "solutions/halves/halves.py"

MORE_PUBLIC = '''

@pytest.mark.check("quarter", needs=["first"])
@pytest.mark.parametrize("n", [2, 5])
def test_some(student, reference, n):
    """A quarter of some numbers"""
    x = reference.normal(n)
    close(student.quarter(x), reference.quarter(x), dtype=x.dtype, limit=0.0, reason="quartering is exact")


@pytest.mark.check("quarter")
def test_first(student, reference):
    """A quarter of one number"""
    x = torch.ones(1)
    close(student.quarter(x), reference.quarter(x=x), dtype=x.dtype, limit=0.0, reason="quartering is exact")
'''
MORE_TOML = '\n[checks."quarter/some"]\nhints = ["Divide."]\n[checks."quarter/first"]\nhints = ["Divide."]\n'


def files_of(course: Path, overrides: dict[str, str | bytes | None] | None = None) -> dict[str, bytes]:
    """The release of an assignment with some files changed."""
    return build(spec.load(assignment_builder.build(course, overrides)))


def problems(course: Path, overrides: dict[str, str | bytes | None]) -> tuple[str, ...]:
    """What building says about it."""
    with pytest.raises(SpecError) as caught:
        files_of(course, overrides)
    return caught.value.problems


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose assignment has public checks with parameters, needs and random inputs."""
    course = tmp_path_factory.mktemp("course")
    assignment_builder.build(course, {PUBLIC: FILES[PUBLIC] + MORE_PUBLIC, TOML: FILES[TOML] + MORE_TOML})
    return course


@pytest.fixture(scope="module")
def files(course: Path) -> dict[str, bytes]:
    """Its release."""
    return build(spec.load(course / "assignments" / "halves"))


def test_the_files_are_those_a_student_needs(course: Path, files: dict[str, bytes]) -> None:
    """Stub, notebook, handout, public checks with their table and answers, what pytest needs, manifest."""
    assert set(files) == {
        "halves.py", "halves.ipynb", "README.md", "conftest.py", "pytest.ini", "manifest.json", "checks/test_small.py",
        "checks/checks.json", "checks/expected.json",
    }  # fmt: skip
    assert "# YOUR CODE HERE" in files["halves.ipynb"].decode()
    assert files["halves.py"] == make_stub((course / SOLUTION).read_bytes(), "halves.py")
    assert files["checks/test_small.py"] == (course / PUBLIC).read_bytes()
    assert files["README.md"].decode() == FILES[HANDOUT]
    ast.parse(files["conftest.py"])


def test_expected_answers_cover_every_public_call_and_no_other(files: dict[str, bytes]) -> None:
    """Each decodes to a value: five calls for the answers, and the inputs of the two random cases."""
    recorded = json.loads(files["checks/expected.json"])
    values = {key: wire.unpack_frame(base64.b64decode(text))["value"] for key, text in recorded.items()}

    names = sorted(key.partition(":")[0] for key in values)
    assert names == ["half", "normal", "normal", "quarter", "quarter", "quarter"]
    assert sorted(len(value) for value in values.values()) == [1, 2, 2, 3, 5, 5]
    half = next(value for key, value in values.items() if key.startswith("half:"))
    assert half.tolist() == [0.5, 1.0, 1.5]
    assert list(recorded) == sorted(recorded)


def test_the_table_and_the_manifest_tell_nothing_of_the_instructor(course: Path, files: dict[str, bytes]) -> None:
    """Public checks with titles, hints and needs; of hidden ones a number for each exercise; digests of all files."""
    table = msgspec.json.decode(files["checks/checks.json"], type=Table)
    manifest = msgspec.json.decode(files["manifest.json"], type=Manifest)

    assert [(check.id, check.file, check.needs) for check in table.assignment.checks] == [
        ("half/small", "checks/test_small.py", ()),
        ("quarter/first", "checks/test_small.py", ()),
        ("quarter/some", "checks/test_small.py", ("quarter/first",)),
    ]
    assert table.hidden == {"half": 1, "quarter": 1}
    assert table.assignment.limits.call_s == 2.5
    assert (table.assignment.folder, table.assignment.solution) == ("", "")
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"}
    assert manifest.files == digests


def test_nothing_hidden_is_in_any_file(course: Path, files: dict[str, bytes]) -> None:
    """No path of this machine, no id, title or line of a hidden check, no line of the solution or of the reference."""
    hidden = [line.strip() for line in (course / HIDDEN).read_text(encoding="utf-8").splitlines()]
    shared = {line.strip() for line in (course / PUBLIC).read_text(encoding="utf-8").splitlines()}
    secret = [line for line in hidden if line and line not in shared]
    secret += ["half/random", "quarter/huge", "test_random", "test_huge", "Half of normal", "Multiply.", "By what?"]
    secret += [
        "return x * 0.5",
        "return x * 0.25",
        "BEGIN SOLUTION",
        "torch.randn(n",
        "x.double() / 2",
        "x.double() / 4",
    ]
    secret += [str(course), str(Path.home()), str(Path.cwd())]
    assert len(secret) > 15

    for name, data in files.items():
        for text in secret:
            assert text.encode() not in data, (name, text)


def test_two_builds_are_the_same_bytes_wherever_they_are_made(
    course: Path, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another current directory, with tests lying in it, and from a copy of the course at another place."""
    copy = shutil.copytree(course, tmp_path / "elsewhere" / "course")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "test_trap.py").write_text("raise SystemExit('collected')\n", encoding="utf-8")
    (tmp_path / "here" / "conftest.py").write_text("raise SystemExit('loaded')\n", encoding="utf-8")
    (tmp_path / "here" / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--color=yes -k nothing")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")

    assert build(spec.load(course / "assignments" / "halves")) == files
    assert build(spec.load(copy / "assignments" / "halves")) == files


def test_an_assignment_without_public_checks_collects_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what lies in the current directory."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "test_trap.py").write_text("raise SystemExit('collected')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    toml = FILES[TOML].replace('[checks."half/small"]\nhints = ["Half of x is x times one half."]\n', "")

    files = files_of(tmp_path / "course", {PUBLIC: None, TOML: toml})

    assert json.loads(files["checks/expected.json"]) == {}
    assert read_back(files, tmp_path / "out").assignment.checks == ()


def read_back(files: dict[str, bytes], folder: Path) -> Table:
    """The table of checks of a written release."""
    write(files, folder)
    return read_table(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Everything below it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_written_files_are_the_release(files: dict[str, bytes], tmp_path: Path) -> None:
    """Written, it has no differences; written again, no file is touched."""
    folder = tmp_path / "release" / "halves"
    assert differences(files, folder) == [f"{folder / name} is missing" for name in sorted(files)]
    write(files, folder)
    assert contents(folder) == files
    assert differences(files, folder) == []
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    write(files, folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before


def test_differences_name_every_file(files: dict[str, bytes], tmp_path: Path) -> None:
    """Missing, changed and foreign ones, a sentence each; what running the checks leaves behind is foreign."""
    folder = tmp_path / "__pycache__" / "halves"  # whatever the folder above is called
    write(files, folder)
    (folder / "halves.py").write_bytes(b"mine")
    (folder / "checks" / "expected.json").unlink()
    (folder / "notes.txt").write_bytes(b"mine")
    (folder / "checks" / "__pycache__").mkdir()
    (folder / "checks" / "__pycache__" / "x.pyc").write_bytes(b"")

    assert differences(files, folder) == [
        f"{folder / 'checks/expected.json'} is missing",
        f"{folder / 'halves.py'} differs from what the assignment makes",
        f"{folder / 'checks/__pycache__/x.pyc'} belongs to no release",
        f"{folder / 'notes.txt'} belongs to no release",
    ]
    assert foreign(files, folder) == {"checks/__pycache__/x.pyc": b"", "notes.txt": b"mine"}


SOLVED_LINE = "widened = x.double() * torch.tensor(0.5, dtype=torch.float64)"
HIDDEN_LINE = max(set(FILES[HIDDEN].splitlines()) - set(FILES[PUBLIC].splitlines()), key=len).strip()
HIDDEN_BODY = re.sub(r"(?m)^@pytest.*\n", "", FILES[HIDDEN][FILES[HIDDEN].index("@pytest.mark.check") :])
HIDDEN_BODY = "\n\n" + HIDDEN_BODY.replace("def test_", "def helper_")
LEAKS = {
    "a line of the solution in the handout": {HANDOUT: f"# Halves\n\nTry `{SOLVED_LINE}`.\n"},
    "a line of the solution in a public check": {PUBLIC: FILES[PUBLIC] + f"\n\n# {SOLVED_LINE}\n"},
    "a line of the solution in a hint": {TOML: FILES[TOML].replace("Half of x is x times one half.", SOLVED_LINE)},
    "a hidden check in the handout": {HANDOUT: f"# Halves\n\n    {HIDDEN_LINE}\n"},
    "the body of a hidden check in a public one": {PUBLIC: FILES[PUBLIC] + HIDDEN_BODY},
    "a hidden line in a comment of a public check": {PUBLIC: FILES[PUBLIC] + f"\n\n# {HIDDEN_LINE}\n"},
    "a notebook with an output among the figures": {
        "assignments/halves/figures/drawn.ipynb": json.dumps({
            "cells": [{"cell_type": "code", "source": "half(3)", "metadata": {}, "execution_count": 1, "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": "tensor(1.5)"}, "metadata": {}}]}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        }),
    },
    "compiled Python among the figures": {"assignments/halves/figures/__pycache__/a.pyc": "x"},
    "a repository among the figures": {"assignments/halves/figures/.git/HEAD": "ref: refs/heads/main"},
}  # fmt: skip


@pytest.mark.parametrize("case", LEAKS)
def test_a_planted_leak_is_refused_by_name(tmp_path: Path, case: str) -> None:
    """Wherever it was planted: in the handout, in a hint, in a public check, in a figure's folder."""
    solution = FILES[SOLUTION].replace("return x * 0.5", f"{SOLVED_LINE}\n    return widened.to(x.dtype)")
    with pytest.raises(SpecError) as caught:
        files_of(tmp_path, {SOLUTION: solution, **LEAKS[case]})

    (sentence, *_) = caught.value.problems
    assert sentence.startswith("release of halves: ")
    assert SOLVED_LINE not in str(caught.value)


def test_without_a_leak_the_same_files_are_released(tmp_path: Path) -> None:
    """What is refused above is the leak, and not the longer solution or a figure."""
    solution = FILES[SOLUTION].replace("return x * 0.5", f"{SOLVED_LINE}\n    return widened.to(x.dtype)")
    files = files_of(tmp_path, {SOLUTION: solution, "assignments/halves/figures/line.svg": "<svg/>"})

    assert files["figures/line.svg"] == b"<svg/>"


def test_writing_removes_what_an_earlier_release_had_and_nothing_else(files: dict[str, bytes], tmp_path: Path) -> None:
    """A check that was renamed is gone; what somebody else put there stays, even if it looks like a check."""
    folder = tmp_path / "halves"
    old = files | {"checks/test_old.py": b"old", "checks/deep/data.txt": b"old"}
    manifest = msgspec.json.decode(files["manifest.json"], type=Manifest)
    listed = msgspec.structs.replace(manifest, files=dict.fromkeys(old, "digest") | {"../outside.txt": "digest"})
    write(old | {"manifest.json": msgspec.json.encode(listed)}, folder)
    mine = {"notes.txt": b"mine", ".git/config": b"mine", "checks/test_mine.py": b"mine"}
    for name, data in mine.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    (tmp_path / "outside.txt").write_bytes(b"mine")

    write(files, folder)

    assert contents(folder) == files | mine
    assert (tmp_path / "outside.txt").read_bytes() == b"mine"
    (folder / "manifest.json").write_bytes(b"damaged")
    write(files, folder)
    assert contents(folder) == files | mine


REFUSED: dict[str, tuple[dict[str, str | bytes | None], list[str]]] = {
    "solution fails": (
        {SOLUTION: FILES[SOLUTION].replace("x * 0.5", "x * 0.51")},
        ["checks/public/test_small.py:12: the solution does not pass `half/small`: the result is off by "],
    ),
    "solution raises": (
        {SOLUTION: FILES[SOLUTION].replace("return x * 0.5", "return x.no_such_method()")},
        ["checks/public/test_small.py:12: the solution does not pass `half/small`: `half` raised AttributeError"],
    ),
    "stub passes": (
        {PUBLIC: FILES[PUBLIC].replace("close(student.half(x), reference.half(x)", "close(x / 2, reference.half(x)")},
        ["checks/public/test_small.py:12: the empty stub passes `half/small`; make it demand a value"],
    ),
    "check is broken": (
        {PUBLIC: FILES[PUBLIC].replace("reference.half(x)", "reference.no_such_function(x)")},
        ["checks/public/test_small.py:12: the solution does not pass `half/small`: the check itself failed"],
    ),
    "check cannot be imported": (
        {PUBLIC: "import no_such_module\n" + FILES[PUBLIC].replace("from __future__ import annotations\n", "")},
        ["checks/public/test_small.py cannot be collected:\n"],
    ),
    "no solution region": (
        {SOLUTION: FILES[SOLUTION].replace("### BEGIN SOLUTION", "").replace("### END SOLUTION", "")},
        ["halves.py:1: there is no solution region"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_release_that_would_mislead_is_refused(tmp_path: Path, name: str) -> None:
    """Each mistake in a sentence that names the check and its place; exit code 2."""
    overrides, expected = REFUSED[name]
    told = problems(tmp_path, overrides)

    assert len(told) == len(expected)
    for line, start in zip(told, expected, strict=True):
        assert line.startswith(start), line
    assert SpecError([]).exit_code == 2


TEMPLATES = {
    "# {{ assignment.titel }}\n": "UndefinedError",
    "{% if %}\n": "TemplateSyntaxError",
    "{{ 1 / 0 }}\n": "ZeroDivisionError",
    "{{ assignment.title + 1 }}\n": "TypeError",
    "{% include 'other.md' %}\n": "TypeError",
    b"\xff\n": "UnicodeDecodeError",
}


@pytest.mark.parametrize("handout", TEMPLATES, ids=repr)
def test_a_handout_that_cannot_be_rendered_is_told(tmp_path: Path, handout: str | bytes) -> None:
    """The file, the kind of mistake and what it says."""
    (told,) = problems(tmp_path, {HANDOUT: handout})

    assert told.startswith(f"{tmp_path / HANDOUT}: {TEMPLATES[handout]}: ")


def test_handouts_are_templates_of_the_assignment(tmp_path: Path) -> None:
    """What they say of points and titles comes from the record; without one there is a title; ends of lines stay."""
    template = (
        "# {{ assignment.title }}\n{% for e in assignment.exercises %}{{ e.id }}: {{ e.points }} <&>\n{% endfor %}ä\n\n"
    )
    assert files_of(tmp_path / "a", {HANDOUT: template})["README.md"].decode() == (
        "# Halves and quarters\nhalf: 2.0 <&>\nquarter: 0.3 <&>\nä\n\n"
    )
    assert files_of(tmp_path / "b", {HANDOUT: None})["README.md"] == b"# Halves and quarters\n"


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_files_made_on_windows_are_released_as_they_are(tmp_path: Path, ends: str, bom: bytes) -> None:
    """Line ends and byte-order marks of the solution and the checks are kept, and the checks still run."""
    changed = {name: bom + FILES[name].replace("\n", ends).encode() for name in (SOLUTION, PUBLIC)}

    files = files_of(tmp_path, {**changed})

    assert files["checks/test_small.py"] == changed[PUBLIC]
    assert files["halves.py"].startswith(bom + b'"""Halves')
    assert files["halves.py"].count(b"\n") == files["halves.py"].count(ends.encode())
    assert len(json.loads(files["checks/expected.json"])) == 1


def test_helpers_and_scenarios_of_public_checks_are_shipped(tmp_path: Path) -> None:
    """Every module beside the public checks goes along, and plays when the release is made."""
    public = FILES[PUBLIC].replace("student.half(x)", 'student.play("once", x=x)')
    scenarios = "def once(student, x):\n    return student.half(x)\n"
    files = files_of(
        tmp_path,
        {
            PUBLIC: public,
            "assignments/halves/checks/public/scenarios.py": scenarios,
            "assignments/halves/scenarios.py": "x",
        },
    )

    assert files["checks/scenarios.py"] == scenarios.encode()
    assert "scenarios.py" not in files


def test_a_record_of_a_release_is_json(files: dict[str, bytes]) -> None:
    """Strict JSON: no nan, no key twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    def never(text: str) -> None:
        pytest.fail(text)

    for name in ("manifest.json", "checks/expected.json"):
        json.loads(files[name], object_pairs_hook=once, parse_constant=never)
