"""The gate: what holds is said to hold, and each thing that does not is told by its name."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import msgspec
import pytest

from grader import cli, release
from grader import verify as gate
from grader.cheats import CHEATS
from grader.diagnose import SIGNATURES, read_signatures
from grader.errors import SpecError
from grader.model import Signatures
from grader.secret import course_secret
from grader.verdict import Verdict, verdict_document, verdict_text
from grader.verify import seed_of, verify, write_signatures
from tests.arena import CHECKS, SOLVED, course, trio
from tests.test_cli import grader

HOME = "assignments/trio"
PROBES = """\
import torch

from grader.probe import call

PAIR = call(torch.tensor([1.0, 5.0]))
PROBES = {"double": {"pair": PAIR}, "triple": {"pair": PAIR}, "negate": {"pair": PAIR}}
"""


def mistake(exercise: str, body: str, fails: str = "one many", more: str = "") -> str:
    """A file of the gallery that fails those checks of its exercise."""
    ids = [f"{exercise}/{exercise}_{check}" for check in fails.split()]
    return f'"""{exercise} is wrong: {body}."""\n\nFAILS = {ids}\n{more}\n\ndef {exercise}(x):\n    {body}\n'


GALLERY = {
    f"{HOME}/mistakes/double_constant_added.py": mistake(
        "double", "return x * 2 + EPS", more='VARY = {"EPS": [0.25, 1e3]}\nEPS = 0.5\n'
    ),
    f"{HOME}/mistakes/triple_doubled.py": mistake("triple", "return x * 2"),
    f"{HOME}/mistakes/negate_kept.py": mistake("negate", "return x"),
    f"{HOME}/variants/by_addition.py": (
        '"""Without a product."""\n\n\ndef double(x):\n    return x + x\n\n\n'
        "def triple(x):\n    return x + x + x\n\n\ndef negate(x):\n    return 0 - x\n"
    ),
    f"{HOME}/probes.py": PROBES,
}
HINTS = 'hints = ["Which?", "What if?", "Look there."]\n'


def hinted(folder: Path) -> Path:
    """The assignment with three hints for each check."""
    toml = folder / "assignment.toml"
    text = toml.read_text(encoding="utf-8").replace("points = 1\n", f"points = 1\n{HINTS}")
    toml.write_text(text.replace('hints = ["Once more."]\n', HINTS), encoding="utf-8")
    return folder


def told(verdict: Verdict) -> str:
    """The document of a verdict, without the time it took."""
    document = verdict_document([(verdict, 1.5)], strict=True)
    return re.sub(r'"seconds": [\d.]+', '"seconds": 0', document.decode())


# What holds


@pytest.fixture(scope="module")
def green(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict, Verdict]:
    """A whole assignment: its folder, its verdict before its signatures were written, and after."""
    course = tmp_path_factory.mktemp("course")
    folder = hinted(trio(course, files=GALLERY))
    there = sorted(course.rglob("*"))
    steps: list[tuple[int, int]] = []

    before = verify(folder, seed_of(course), lambda done, total: steps.append((done, total)))

    assert sorted(course.rglob("*")) == there  # no secret, no signatures, no cache
    assert steps == [(done + 1, len(steps)) for done in range(3 + len(CHEATS) + 6)]  # solution twice, stub, gallery
    write_signatures(folder, before.signatures)
    return folder, before, verify(folder, seed_of(course))


def test_a_whole_assignment_holds_strictly(green: tuple[Path, Verdict, Verdict]) -> None:
    """Full marks, every check catches every mistake of its exercise, each mistake is named, the variant is right."""
    _, _, verdict = green

    assert (verdict.problems, verdict.gaps, verdict.drift) == ((), (), False)
    assert verdict.holds(strict=True)
    assert (verdict.assignment, verdict.points, verdict.bonus, verdict.pending) == ("trio", 6.0, 0.0, 0.0)
    assert verdict.checks == {check: 3 if check.startswith("double/") else 1 for check in CHECKS}
    assert [(one.file.partition("/")[2], one.variation, one.named) for one in verdict.mistakes] == [
        ("double_constant_added.py", "", ("constant-added",)),
        ("double_constant_added.py", "EPS = 0.25", ("constant-added",)),
        ("double_constant_added.py", "EPS = 1000.0", ("constant-added",)),
        ("negate_kept.py", "", ("kept",)),
        ("triple_doubled.py", "", ("doubled",)),
    ]
    assert all(set(one.not_passed) == {c for c in CHECKS if c.startswith(one.exercise)} for one in verdict.mistakes)
    assert [(one.id, one.not_passed, one.named) for one in verdict.variants] == [("by-addition", (), ())]


def test_the_same_assignment_has_the_same_verdict(green: tuple[Path, Verdict, Verdict]) -> None:
    """Two runs give the same document byte for byte, but for the seconds; the first lacked its signatures only."""
    _, before, after = green

    assert before.drift
    assert (before.problems, before.gaps) == ((), ())
    assert not before.holds(strict=True)
    assert before.holds(strict=False)
    first = json.loads(told(before))
    first["assignments"][0] |= {"holds": True, "signatures": "up to date"}
    assert json.dumps(first, indent=2, ensure_ascii=False) + "\n" == told(after)
    assert before.signatures == after.signatures


def test_signatures_are_what_each_mistake_answers(green: tuple[Path, Verdict, Verdict]) -> None:
    """By hand: of 1 and 5 the double is 2 and 10, and 2.5 and 10.5 with one half added; as written, so read."""
    folder, _, verdict = green
    signatures = read_signatures(folder)

    assert signatures == verdict.signatures
    right = {probe: answer.parts["value"].values for probe, answer in signatures.right.items()}
    assert right == {"double/pair": (2.0, 10.0), "triple/pair": (3.0, 15.0), "negate/pair": (-1.0, -5.0)}
    assert [(one.id, one.variation, one.message, list(one.answers)) for one in signatures.mistakes] == [
        ("constant-added", "", "double is wrong: return x * 2 + EPS.", ["double/pair"]),
        ("constant-added", "EPS = 0.25", "double is wrong: return x * 2 + EPS.", ["double/pair"]),
        ("constant-added", "EPS = 1000.0", "double is wrong: return x * 2 + EPS.", ["double/pair"]),
        ("kept", "", "negate is wrong: return x.", ["negate/pair"]),
        ("doubled", "", "triple is wrong: return x * 2.", ["triple/pair"]),
    ]
    answers = [answer.parts["value"].values for one in signatures.mistakes for answer in one.answers.values()]
    assert answers == [(2.5, 10.5), (2.25, 10.25), (1002.0, 1010.0), (1.0, 5.0), (2.0, 10.0)]


def test_the_seed_is_the_courses_own(tmp_path: Path) -> None:
    """Where there is a secret, what the class will be graded on is proved; where there is none, none is made."""
    assert seed_of(tmp_path) == b"verify"
    assert list(tmp_path.iterdir()) == []
    secret, _ = course_secret(tmp_path)

    assert seed_of(tmp_path) == secret != b"verify"


def test_last_digits_are_no_drift(green: tuple[Path, Verdict, Verdict]) -> None:
    """Another machine may round otherwise; other sentences, answers, questions or constants are other signatures."""
    made = green[2].signatures
    text = msgspec.json.encode(made).decode()

    def drifted(old: str, new: str) -> bool:
        assert old in text
        return gate._drifted(msgspec.json.decode(text.replace(old, new), type=Signatures), made)

    assert not drifted("1002.0", "1002.0001")  # allowed: 16 · 2⁻²³ · (5 + 1002) = 0.0019
    assert not drifted("[2.0,10.0]", "[2.00001,10.0]")
    assert drifted("1002.0", "1002.003")
    assert drifted("[2.0,10.0]", "[2.1,10.0]")
    assert drifted("[-1.0,-5.0]", "[-1.0,-5.1]")
    assert drifted("double is wrong", "twice is wrong")
    assert drifted("EPS = 0.25", "EPS = 0.5")
    assert drifted('"limit":16.0', '"limit":8.0')


# What does not hold

MORE = '''

@pytest.mark.check("negate")
def test_two(student, reference):
    """negate of two numbers"""
    x = torch.tensor([1.0, 2.0])
    close(student.negate(x), -x.double(), dtype=x.dtype, limit=0, reason="exact in float32")


@pytest.mark.check("negate")
def test_five(student, reference):
    """negate of five numbers"""
    x = torch.arange(1.0, 6.0)
    close(student.negate(x), -x.double(), dtype=x.dtype, limit=0, reason="exact in float32")


@pytest.mark.check("triple", device="cuda")
def test_cuda(student, reference):
    """triple on a GPU"""
    student.triple(torch.zeros(1, device="cuda"))
'''
MORE_TOML = "".join(
    f'[checks."{check}"]\npoints = 1.0\nstretch = true\n{HINTS * (check != "negate/two")}'
    for check in ("negate/two", "negate/five", "triple/cuda")
)
FLAWS = GALLERY | {
    f"{HOME}/mistakes/double_constant_added.py": mistake(
        "double", "return x * 2 + EPS", more='VARY = {"EPS": [0.0, 2.0]}\nEPS = 0.5\n'
    ),
    f"{HOME}/mistakes/double_only_many.py": mistake("double", "return x * (2 if x.numel() == 1 else 5)"),
    f"{HOME}/mistakes/double_sixfold.py": mistake("double", "return x * 6", fails="one"),
    f"{HOME}/mistakes/negate_kept.py": (
        mistake("negate", "return -x if x.numel() == 2 else x").replace("FAILS = [", 'FAILS = ["negate/five", ')
    ),
    f"{HOME}/mistakes/negate_five_kept.py": (
        '"""Five are kept."""\nFAILS = ["negate/five"]\n\n\ndef negate(x):\n'
        "    return x if x.tolist() == [1, 2, 3, 4, 5] else -x\n"
    ),
    f"{HOME}/mistakes/triple_quadrupled.py": mistake("triple", "return x * 4"),
    f"{HOME}/mistakes/triple_twice_two.py": mistake("triple", "return x + x + x + x"),
    f"{HOME}/variants/too_short.py": '"""By two."""\n\n\ndef triple(x):\n    return x + x\n',
    f"{HOME}/variants/of_one.py": '"""By −1."""\nMISSES = ["negate/two"]\n\n\ndef negate(x):\n    return x * -1\n',
}


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    """The verdict on a gallery with one flaw of each kind."""
    folder = hinted(trio(tmp_path_factory.mktemp("course"), hidden=MORE, toml=MORE_TOML, files=FLAWS))
    (folder / SIGNATURES).write_text('{"schema": 1, "probes": [], "right": {}, "mistakes": []}', encoding="utf-8")
    toml = folder / "assignment.toml"
    text = toml.read_text(encoding="utf-8").replace(HINTS, 'hints = ["One.", "Two."]\n', 1)
    toml.write_text(text, encoding="utf-8")
    return verify(folder, b"seed")


def test_each_flaw_of_a_gallery_is_told_once(flawed: Verdict) -> None:
    """FAILS too long and too short, a variation that loses nothing, variants that lose, or lose less than they say."""
    both = "double/double_many, double/double_one"
    assert sorted(flawed.problems) == sorted([
        f"mistakes/double_constant_added.py with EPS = 0.0: passes {both}, which FAILS names",
        "mistakes/double_only_many.py: passes double/double_one, which FAILS names",
        "mistakes/double_sixfold.py: does not pass double/double_many, which FAILS does not name",
        "variants/of_one.py: passes negate/two, which MISSES names",
        "variants/too_short.py: does not pass triple/triple_many, triple/triple_one, which MISSES does not name",
        "variants/too_short.py: is right, and was told of doubled",
    ])  # fmt: skip
    assert not flawed.holds(strict=False)


def test_each_gap_of_a_gallery_is_told_once(flawed: Verdict) -> None:
    """A mistake that nothing names, twins, a check that nothing fails, hints that are missing; old signatures."""
    probe = "add a probe that tells them apart"
    assert sorted(flawed.gaps) == sorted([
        f"mistakes/negate_kept.py: answers every probe as the solution does, within its limit — {probe}",
        "mistakes/negate_five_kept.py: is never asked the probes: they are for who loses core points by a wrong answer",
        f"mistakes/triple_quadrupled.py: answers every probe like twice-two — {probe}",
        f"mistakes/triple_twice_two.py: answers every probe like quadrupled — {probe}",
        "negate/two: no mistake of the gallery fails it",
        "double/double_one: has 2 hints, not 3",
        "negate/two: has 0 hints, not 3",
    ])  # fmt: skip
    assert flawed.drift


def test_another_constant_may_be_caught_by_fewer_checks_but_is_named(flawed: Verdict) -> None:
    """The variation with 2.0 is a mistake like the entry itself; what each file does not pass is listed."""
    lost = {(one.file.rpartition("/")[2], one.variation): one for one in flawed.mistakes}

    assert lost["double_constant_added.py", "EPS = 2.0"].named == ("constant-added",)
    assert lost["double_constant_added.py", "EPS = 0.0"].not_passed == ()
    assert lost["double_only_many.py", ""].not_passed == ("double/double_many",)
    assert lost["double_only_many.py", ""].named == ("only-many",)
    assert (flawed.checks["negate/two"], flawed.checks["negate/five"]) == (0, 2)
    assert (flawed.bonus, "triple/cuda" in flawed.checks) == (2.0, False)  # without a GPU nothing is known of it


SECRET_LINE = "widened = x.double().mul(torch.tensor(3.0).double())"
LOOSE = '''

CALLS = []


@pytest.mark.check("triple")
def test_unfair(student, reference):
    """Asks for more than three"""
    close(student.triple(torch.ones(2)), torch.full((2,), 3.5).double(), dtype=torch.float32, limit=0, reason="exact")


@pytest.mark.check("negate")
def test_lenient(student, reference):
    """Asks nobody"""


@pytest.mark.check("double")
def test_shape(student, reference):
    """Looks at the shape only"""
    x = torch.ones(2)
    assert getattr(student.double(x), "shape", None) == x.shape


@pytest.mark.check("negate")
def test_moody(student, reference):
    """Fails the second time it is asked"""
    close(student.negate(torch.ones(2)), -torch.ones(2).double(), dtype=torch.float32, limit=0, reason="exact")
    CALLS.append(1)
    assert len(CALLS) != 2


@pytest.mark.check("double")
def test_broken(student, reference):
    """Breaks whatever is answered"""
    student.double(torch.ones(2))
    raise KeyError("of the check")
'''
LOOSE_TOML = "".join(
    f'[checks."{check}"]\npoints = 1\nstretch = true\n'
    for check in ("triple/unfair", "negate/lenient", "double/shape", "negate/moody", "double/broken")
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    """The verdict on an assignment without a gallery, whose checks, solution and handout are at fault."""
    files = {
        "solutions/trio/trio.py": SOLVED.replace("return x * 3", f"{SECRET_LINE}\n    return widened.to(x.dtype)"),
        f"{HOME}/handout.md": f"# Factors\n\nOne could write `triple` like this:\n\n    {SECRET_LINE}\n",
    }
    return verify(trio(tmp_path_factory.mktemp("course"), hidden=LOOSE, toml=LOOSE_TOML, files=files), b"seed")


@pytest.fixture
def loose(bare: Verdict) -> list[str]:
    """Its problems."""
    return list(bare.problems)


def of(problems: list[str], check: str) -> list[str]:
    """What is told of one check."""
    return [problem.removeprefix(f"{check}: ") for problem in problems if problem.startswith(f"{check}: ")]


def test_an_assignment_without_a_gallery_has_gaps(bare: Verdict) -> None:
    """What is merely missing is no problem, and signatures of nothing are up to date."""
    ids = ("triple/unfair", "negate/lenient", "double/shape", "negate/moody", "double/broken", *CHECKS)

    assert not bare.drift
    assert bare.gaps[0] == "there is no mistakes/: nothing proves that the checks catch anything"
    assert sorted(bare.gaps[1:]) == sorted(
        [
            "double/first: has 1 hints, not 3",
            *(f"{check}: has 0 hints, not 3" for check in ids),
            *(f"{check}: no mistake of the gallery fails it" for check in ids),
        ]
    )


def test_a_solution_that_does_not_pass_is_told(loose: list[str]) -> None:
    """With the reason; also where the check itself is broken."""
    (unfair,) = of(loose, "triple/unfair")
    assert unfair.startswith("the solution does not pass: the result")
    assert of(loose, "double/broken")[0].startswith("the solution does not pass: the check itself failed")


def test_a_check_that_the_stub_passes_is_told(loose: list[str]) -> None:
    """It would give points for nothing; every answer that needs no thought passes it as well."""
    assert of(loose, "negate/lenient") == [
        "the empty stub passes — make it demand a value",
        *(f"{name}, returned to every question, passes" for name in CHEATS),
    ]


def test_a_check_that_a_cheat_passes_is_told(loose: list[str]) -> None:
    """By the names of the answers: those of the right shape and nothing else."""
    assert of(loose, "double/shape") == [
        f"{name}, returned to every question, passes" for name in ("zeros", "the input", "nan")
    ]


def test_a_check_that_a_cheat_breaks_is_told(loose: list[str]) -> None:
    """A check that breaks on nonsense, and on the solution, would be pending for ever."""
    broken = of(loose, "double/broken")

    assert any(problem.startswith("None, returned to every question") for problem in broken)
    assert not any(problem.startswith("an exception, returned") for problem in broken)


def test_a_solution_that_wavers_is_told(loose: list[str]) -> None:
    """The same file graded twice must give the same records, not only the same points."""
    assert of(loose, "negate/moody") == ["the solution was graded twice, with different results"]


def test_a_leak_is_told(loose: list[str]) -> None:
    """The line of the handout that stands in the solution; the line itself is not repeated."""
    leaked = [problem for problem in loose if "solution" in problem and "README.md" in problem]

    assert len(leaked) == 1
    assert "line 5" in leaked[0]
    assert "solutions/trio/trio.py" in leaked[0]
    assert SECRET_LINE not in "".join(loose)


def test_a_release_that_is_not_the_same_twice_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its drift check would never be content."""
    bytes_ = iter([b"1", b"2", b"3", b"3"])
    monkeypatch.setattr(release, "build", lambda assignment: {"README.md": next(bytes_)})
    trial = gate._Trial(course(trio(tmp_path)), (), lambda done, total: None)

    trial.release()
    assert trial.problems == ["the release was made twice, with different bytes"]
    trial.release()
    assert len(trial.problems) == 1


def test_sound_checks_beside_them_are_not_told(loose: list[str]) -> None:
    """What is planted is told, and nothing else."""
    known = ("triple/unfair", "negate/lenient", "double/shape", "negate/moody", "double/broken")
    other = [problem for problem in loose if not problem.startswith(tuple(f"{check}: " for check in known))]

    assert all("text of the solution (solutions/trio/trio.py, line 12)" in problem for problem in other), other


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("mistakes/double_x.py", "("), ("probes.py", "1 / 0"), ("assignment.toml", ""), ("reference.py", "1 / 0"),
        (SIGNATURES, "{"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_before_anything_runs(tmp_path: Path, file: str, text: str) -> None:
    """A spec error of the assignment, its gallery, its probes, its reference or its signatures."""
    folder = trio(tmp_path, files={f"{HOME}/{file}": text})
    with pytest.raises(SpecError, match=Path(file).name):
        verify(folder, b"seed", lambda done, total: pytest.fail("something was graded"))


# The command


class Command:
    """`grader` in this process, with verdicts that were found before."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.patch = patch
        self.captured = captured
        self.errors = ""

    def __call__(self, course: Path, verdict: Verdict | None, *arguments: str) -> tuple[int, str]:
        """Exit code and standard output; without a verdict it has to be found now."""
        self.patch.chdir(course)
        if verdict is not None:
            self.patch.setattr(gate, "verify", lambda folder, seed, progress: verdict)
        self.patch.setattr(sys, "argv", ["grader", "verify", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, self.errors = self.captured.readouterr()
        return int(caught.value.code or 0), out


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """See Command."""
    return Command(monkeypatch, capfd)


def test_the_command_writes_signatures_unless_strict(
    green: tuple[Path, Verdict, Verdict], command: Command, tmp_path: Path
) -> None:
    """`--strict` looks only: exit code 1, and nothing written; without it 0, and the file. Then `--strict` has 0."""
    folder = trio(tmp_path)
    _, before, after = green

    code, text = command(tmp_path, before, "trio", "--strict")
    assert (code, (folder / SIGNATURES).exists()) == (1, False)
    assert text == verdict_text(before, strict=True) + "\n"

    code, text = command(tmp_path, before)
    assert (code, text) == (0, verdict_text(before, strict=False) + "\n")
    assert (folder / SIGNATURES).read_bytes() == (green[0] / SIGNATURES).read_bytes()

    written = (folder / SIGNATURES).stat()
    code, text = command(tmp_path, after, "--strict", "--json", "trio")
    assert (code, re.sub(r'"seconds": [\d.]+', '"seconds": 0', text)) == (0, told(after))
    assert command(tmp_path, after)[0] == 0
    assert (folder / SIGNATURES).stat() == written


def test_the_command_writes_nothing_that_does_not_hold(flawed: Verdict, command: Command, tmp_path: Path) -> None:
    """Problems come first: exit code 1, and signatures of a wrong gallery are not kept."""
    folder = trio(tmp_path)

    assert command(tmp_path, flawed) == (1, verdict_text(flawed, strict=False) + "\n")
    assert command(tmp_path, flawed, "--json")[0] == 1
    assert not (folder / SIGNATURES).exists()


def test_the_command_refuses_what_cannot_be_read(command: Command, tmp_path: Path) -> None:
    """Exit code 2 and the sentences, for one assignment or all; 2 for one that is not there."""
    trio(tmp_path, files={f"{HOME}/probes.py": "PROBES = 1\n"})

    assert command(tmp_path, None) == (2, "")
    assert "defines no dict PROBES" in command.errors
    assert command(tmp_path, None, "tri") == (2, "")
    assert "did you mean 'trio'?" in command.errors


@pytest.mark.slow
def test_the_command_from_the_first_to_the_last(green: tuple[Path, Verdict, Verdict], tmp_path: Path) -> None:
    """In processes of its own: the same files, documents and exit codes; progress goes to standard error."""
    folder = hinted(trio(tmp_path, files=GALLERY))

    strict = grader("verify", "trio", "--strict", cwd=tmp_path)
    assert (strict.returncode, (folder / SIGNATURES).exists()) == (1, False), strict.stderr
    first = grader("verify", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert (folder / SIGNATURES).read_bytes() == (green[0] / SIGNATURES).read_bytes()
    again = grader("verify", "trio", "--strict", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stdout
    assert re.sub(r'"seconds": [\d.]+', '"seconds": 0', again.stdout) == told(green[2])
    assert "trio: " in again.stderr


HIDING = '''

@pytest.mark.check("double", needs=["double_one"])
def test_hiding(student, reference):
    """Asks, and takes anything"""
    try:
        student.double(torch.ones(2))
    except Exception:
        pass
'''


def test_a_check_cannot_hide_behind_the_one_it_needs(tmp_path: Path) -> None:
    """What every answer passes is told, although whoever answers so never gets there."""
    toml = '[checks."double/hiding"]\npoints = 1\nstretch = true\n'
    verdict = verify(trio(tmp_path, hidden=HIDING, toml=toml, files=GALLERY), b"seed")

    assert "double/hiding: zeros, returned to every question, passes" in verdict.problems
    assert "double/hiding: the empty stub passes — make it demand a value" in verdict.problems
    assert "double/hiding: no mistake of the gallery fails it" in verdict.gaps  # it is only skipped


def test_a_slip_in_an_entry_is_not_its_mistake(tmp_path: Path) -> None:
    """A misspelt method fails every check too, and would be taken for what the file says it shows."""
    slipped = {f"{HOME}/mistakes/double_slipped.py": mistake("double", "return x.flaot() * 2")}
    verdict = verify(trio(tmp_path, files=GALLERY | slipped), b"seed")

    (problem,) = verdict.problems
    assert problem == (
        "mistakes/double_slipped.py: `double` raised AttributeError at line 7 of trio.py:"
        " a slip in the file, and not its mistake"
    )
