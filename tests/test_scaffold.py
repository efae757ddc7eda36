"""A new assignment works as it is made, and nothing is made of what cannot work."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from grader import spec, wheel
from grader.diagnose import read_signatures
from grader.errors import UsageError
from grader.leaks import Secrets, leaks
from grader.manifest import read_table
from grader.release import build, write
from grader.scaffold import new
from grader.verdict import Verdict
from grader.verify import verify, write_signatures
from tests.test_cli import PROCESS, grader


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """A new assignment `tiny` in an empty folder, and its verdict as it was made; its signatures are written."""
    course = tmp_path_factory.mktemp("course")
    new(course, "tiny")
    folder = spec.find_assignment(course, "tiny")
    verdict = verify(folder, b"seed")
    write_signatures(folder, verdict.signatures)
    return course, verdict


def test_it_holds_as_it_is_made(made: tuple[Path, Verdict]) -> None:
    """Nothing is wrong and nothing is missing but the signatures, which `verify` writes: then it holds strictly."""
    course, verdict = made

    assert (verdict.problems, verdict.gaps) == ((), ())
    assert verdict.drift
    assert verdict.points == sum(exercise.points for exercise in spec.load(course / "assignments" / "tiny").exercises)
    assert len(verdict.mistakes) >= 2  # an example teaches by more than one
    assert all(one.named == (one.id,) for one in verdict.mistakes)
    assert verdict.variants
    assert read_signatures(course / "assignments" / "tiny") == verdict.signatures


def test_it_shows_what_there_is(made: tuple[Path, Verdict]) -> None:
    """Public and hidden checks, needs, a reference, probes, hints in three steps, a handout: each once to look at."""
    assignment = spec.load(made[0] / "assignments" / "tiny")

    assert assignment.public_checks and assignment.hidden_checks
    assert any(check.needs for check in assignment.hidden_checks)
    assert all(len(check.hints) == 3 for check in assignment.checks)
    assert read_signatures(made[0] / "assignments" / "tiny").probes
    assert (assignment.id, assignment.title, assignment.file) == ("tiny", "Tiny", "tiny.py")


def test_its_release_can_be_checked_at_home(made: tuple[Path, Verdict], tmp_path: Path) -> None:
    """Stub, notebook, handout with its placeholders filled in, signatures; nothing of the hidden checks."""
    folder = tmp_path / "release"
    write(build(spec.load(made[0] / "assignments" / "tiny")), folder)

    assert read_table(folder).assignment.id == "tiny"
    stub = (folder / "tiny.py").read_text(encoding="utf-8")
    assert "NotImplementedError" in stub and "SOLUTION" not in stub
    handout = (folder / "README.md").read_text(encoding="utf-8")
    assert handout.startswith("# Tiny\n")
    assert "{{" not in handout and "{%" not in handout
    assert not any("hidden" in path.name or "large_halves" in path.name for path in folder.rglob("*"))
    assert read_signatures(folder / "checks") == read_signatures(made[0] / "assignments" / "tiny")


def test_its_templates_are_no_secret_of_it(made: tuple[Path, Verdict]) -> None:
    """They are in the wheel that lies beside every release, and a file that is as it was made equals one of them."""
    name, package = wheel.build()

    assert leaks({name: package}, Secrets.of(spec.load(made[0] / "assignments" / "tiny"))) == []


def test_every_template_is_used_and_filled_in(made: tuple[Path, Verdict], tmp_path: Path) -> None:
    """Each becomes one file, under its own name or the assignment's; no placeholder is left but the handout's own."""
    root = Path(str(files("grader") / "templates" / "new"))
    templates = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]

    paths = new(tmp_path, "two_words")

    assert all(path.suffix == ".jinja" for path in templates)
    assert len(set(paths)) == len(paths) == len(templates)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)
    assert tmp_path / "solutions" / "two_words" / "two_words.py" in paths
    expected = {path.relative_to(root).as_posix().removesuffix(".jinja") for path in templates}
    home = tmp_path / "assignments" / "two_words"
    assert {f"assignments/{path.relative_to(home).as_posix()}" for path in paths if path.is_relative_to(home)} == {
        name for name in expected if name.startswith("assignments/")
    }
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert path.name == "handout.md" or ("{{" not in text and "{%" not in text), path
        assert text.endswith("\n") and not text.endswith("\n\n"), path
    assert spec.load(home).title == "Two words"


@pytest.mark.parametrize(
    "name",
    [
        "", "Tiny", "2tiny", "my-tiny", "a b", "class", "../tiny", "a/b", "tiny.py", "_tiny", "__pycache__", "torch",
        "random", "grader", "pytest", "{{ title }}",
    ],
)  # fmt: skip
def test_a_bad_id_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    """What is no module's name, what `verify` would not find, what would hide a library from a student."""
    with pytest.raises(UsageError) as caught:
        new(tmp_path, name)

    assert str(caught.value).startswith(f"{name!r} cannot be an assignment's id")
    assert "like `losses`" in str(caught.value)
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("home", ["assignments", "solutions"])
def test_a_taken_id_is_refused_and_nothing_is_written(tmp_path: Path, home: str) -> None:
    """Also where only a solution of that name is left; what lies there is not touched."""
    (tmp_path / home / "tiny").mkdir(parents=True)
    (tmp_path / home / "tiny" / "mine.txt").write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UsageError, match="exists already — choose another id, or remove it first"):
        new(tmp_path, "tiny")

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_the_commands_one_after_the_other(tmp_path: Path) -> None:
    """In an empty folder: new, verify, verify --strict, release, release --check, grade, check; each as it is told."""
    (tmp_path / "below").mkdir()
    first = grader("new", "tiny", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "assignments/tiny/assignment.toml\n" in first.stdout
    assert "grader verify tiny" in first.stdout
    assert grader("new", "second", cwd=tmp_path / "assignments" / "tiny").returncode == 0  # in the course, not here
    assert (tmp_path / "assignments" / "second" / "assignment.toml").exists()
    again = grader("new", "tiny", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already" in again.stderr

    for command in (["verify"], ["verify", "--strict"], ["release"], ["release", "--check"]):
        done = grader(*command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    (tmp_path / "in").mkdir()
    solution = (tmp_path / "solutions" / "tiny" / "tiny.py").read_text(encoding="utf-8")
    for name, text in {"ada": solution, "bob": solution.replace("x.float()", "x"), "eve": "x = 1\n"}.items():
        (tmp_path / "in" / f"{name}.py").write_text(text, encoding="utf-8")
    done = grader("grade", "tiny", "in", "--out", "out", *PROCESS, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [
        (score["student"], score["points"], score["max_points"], [found["id"] for found in score["mistakes"]])
        for score in json.loads(done.stdout)["scores"]
    ] == [("ada", 3.0, 3.0, []), ("bob", 1.0, 3.0, ["squared-in-half"]), ("eve", 0.0, 3.0, [])]
    home = grader("check", "release/tiny", cwd=tmp_path)
    assert home.returncode == 1
    assert "`mean_square` is not written yet" in home.stdout
