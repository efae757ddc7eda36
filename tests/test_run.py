"""What becomes of submissions that are broken in every usual way: only what is broken loses points."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from grader import spec
from grader.diagnose import SCHEMA, SIGNATURES
from grader.model import Probe, Record, Run, Signatures, Submission
from grader.probe import read_probes
from grader.run import run
from tests.arena import CHECKS, EXERCISES, SOLVED, course, outcomes, run_sources, trio

ALL_PASSED = dict.fromkeys(CHECKS, "passed")


def broken(exercise: str, body: str) -> str:
    """The solved file with another body for one exercise."""
    lines = SOLVED.splitlines()
    start = lines.index(f"def {exercise}(x):")
    return "\n".join([*lines[: start + 1], textwrap.indent(body, "    "), *lines[start + 4 :]]) + "\n"


def lost(exercise: str, outcome: str) -> dict[str, str]:
    """Every check passed but those of one exercise."""
    return {check: outcome if check.startswith(f"{exercise}/") else "passed" for check in CHECKS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trio assignment."""
    return trio(tmp_path_factory.mktemp("course"))


BROKEN = {
    "wrong": ("return x * 2.5", "failed"),
    "raises": ("raise ValueError('no')", "errored"),
    "unwritten": ("raise NotImplementedError", "errored"),
    "loops": ("while True: pass", "timed_out"),
    "sleeps": ("import time; time.sleep(60)", "timed_out"),
    "exits": ("import os; os._exit(0)", "errored"),
    "sys_exit": ("raise SystemExit(0)", "errored"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "errored"),
    "hoards": ("global hoard; hoard = [bytearray(2**27) for _ in range(64)]", "errored"),
    "hoards_tensors": ("global hoard; hoard = [torch.empty(2**25) for _ in range(64)]", "errored"),
    "closes_all": ("import os; os.closerange(3, 64); return x", "errored"),
    "returns_none": ("x * 2", "failed"),
    "recurses": ("return triple(x) if False else negate_(x)", "errored"),
    "floods": ("import sys; [print('x' * 10**6) for _ in range(20)]; sys.stdout.flush(); return x", "failed"),
    "poisons_torch": (
        "torch.mul = torch.Tensor.__mul__ = torch.Tensor.__neg__ = lambda *a: torch.zeros(1); return x",
        "failed",
    ),
    "default_dtype": ("torch.set_default_dtype(torch.float64); return x", "failed"),
}


@pytest.fixture(scope="module")
def broken_runs(folder: Path) -> dict[str, Run]:
    """Every way to break every function, graded one after the other in one session."""
    sources = {
        f"{name}-{exercise}": broken(exercise, body) for exercise in EXERCISES for name, (body, _) in BROKEN.items()
    }
    return run_sources(folder, sources | {"last": SOLVED})


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("name", BROKEN)
def test_one_broken_function_loses_its_own_checks_only(broken_runs: dict[str, Run], exercise: str, name: str) -> None:
    """Whatever one function does, wherever it stands in the order, the other functions keep their points."""
    assert outcomes(broken_runs[f"{name}-{exercise}"]) == lost(exercise, BROKEN[name][1])


@pytest.mark.slow
def test_a_solved_file_after_all_of_them_has_full_marks(broken_runs: dict[str, Run]) -> None:
    """Nothing of what they did reaches the next submission."""
    assert outcomes(broken_runs["last"]) == ALL_PASSED


@pytest.mark.slow
def test_neighbours_score_as_alone(folder: Path) -> None:
    """The same records come out alone, in either order, and between submissions that crash, loop and poison."""
    students = {
        "ada": SOLVED,
        "loop": broken("triple", "while True: pass"),
        "poison": broken("double", BROKEN["poisons_torch"][0]),
        "dead": broken("negate", "import os; os._exit(3)"),
    }
    alone = {name: outcomes(run_sources(folder, {name: source})[name]) for name, source in students.items()}

    forwards = run_sources(folder, students)
    backwards = run_sources(folder, dict(reversed(students.items())))

    assert {name: outcomes(one) for name, one in forwards.items()} == alone
    assert {name: outcomes(one) for name, one in backwards.items()} == alone
    assert alone["ada"] == ALL_PASSED


IMPORTS = {
    "raise RuntimeError('at import')": "raised RuntimeError",
    "import no_such_module": "raised ModuleNotFoundError",
    "torch.ones(2) @ torch.ones(3)": "raised RuntimeError",
    "import sys; sys.exit(1)": "raised SystemExit",
    "undefined_name": "raised NameError",
    "while True: pass": "(timeout) was left out",
    "import os; os._exit(0)": "(crash) was left out",
    "import os; os.abort()": "(crash) was left out",
    "input()": "raised EOFError",
}


def test_what_fails_at_import_keeps_the_rest(folder: Path) -> None:
    """A top-level statement that raises, hangs or crashes costs nothing that others define, and is told."""
    first = {f"first {extra}": SOLVED.replace("import torch\n", f"import torch\n{extra}\n") for extra in IMPORTS}
    last = {f"last {extra}": f"{SOLVED}{extra}\n" for extra in IMPORTS}

    runs = run_sources(folder, first | last)

    for name, one in runs.items():
        place, extra = name.split(" ", 1)
        assert outcomes(one) == ALL_PASSED, name
        line = 2 if place == "first" else len(SOLVED.splitlines()) + 1
        told = [f"line {line} {IMPORTS[part]} when loading" for part in (extra,)]
        assert list(one.warnings) == told, name


def test_a_file_that_always_dies_is_told_in_a_sentence(folder: Path) -> None:
    """After three statements that end the process the file is given up; every check says why, none passes."""
    source = "import os\n" + "os._exit(1)\n" * 9 + SOLVED

    one = run_sources(folder, {"s": source, "next": SOLVED})

    assert set(outcomes(one["s"]).values()) == {"errored"}
    assert one["s"].records[0].evidence is not None
    assert "of its statements hang or end the process" in one["s"].records[0].evidence.message
    assert outcomes(one["next"]) == ALL_PASSED


def test_a_missing_function_loses_its_exercise(folder: Path) -> None:
    """The others are graded, and the message says what is missing."""
    source = SOLVED.replace("def triple", "def tripel")

    one = run_sources(folder, {"s": source})["s"]

    assert outcomes(one) == lost("triple", "errored")
    record = next(record for record in one.records if record.check == "triple/triple_one")
    assert record.evidence is not None and "defines no function `triple`" in record.evidence.message


def test_state_left_by_an_earlier_call_costs_nothing(folder: Path) -> None:
    """A function that works only in a fresh process passes in pass 2; one that spoils others does not cost them."""
    once = "calls = []\n" + broken("negate", "calls.append(1)\nreturn -x if len(calls) < 4 else x")
    spoiler = broken("double", "global triple\ntriple = None\nreturn x * 2")

    runs = run_sources(folder, {"once": once, "spoiler": spoiler})

    assert outcomes(runs["once"]) == ALL_PASSED
    assert outcomes(runs["spoiler"]) == ALL_PASSED
    assert [record.check for record in runs["spoiler"].records if record.unstable]


def test_random_verdicts_are_settled_and_marked(folder: Path) -> None:
    """A function that depends on how often it was called is decided alone in its worker, and marked."""
    source = "calls = []\n" + broken("triple", "calls.append(1)\nreturn x * 3 if len(calls) == 1 else x")

    one = run_sources(folder, {"s": source})["s"]

    seen = outcomes(one)
    assert seen["triple/triple_one"] == "passed"
    assert seen["triple/triple_many"] == "failed"


def test_a_follower_runs_once_what_it_needs_has_passed_after_all(tmp_path: Path) -> None:
    """A check is skipped only if what it needs failed for good, not if an earlier call had spoilt it."""
    follower = '''

@pytest.mark.check("triple", needs=["triple_one"])
def test_follower(student, reference):
    """triple of zero"""
    close(student.triple(torch.zeros(1)), torch.zeros(1).double(), dtype=torch.float32, limit=0, reason="exact")
'''
    folder = trio(tmp_path, hidden=follower, toml='[checks."triple/follower"]\npoints = 1\nstretch = true')
    spoiler = broken("double", "global triple\nkeep = triple\ntriple = None\nreturn x * 2")

    runs = run_sources(folder, {"spoiler": spoiler, "wrong": broken("triple", "return x")})

    assert outcomes(runs["spoiler"])["triple/follower"] == "passed"
    assert outcomes(runs["wrong"])["triple/follower"] == "skipped"


def test_a_check_that_breaks_is_our_fault_and_never_a_zero(tmp_path: Path) -> None:
    """An exception of the check itself, and a shared input changed in place, are grader errors with a traceback."""
    checks = '''

@pytest.mark.check("triple")
def test_buggy(student, reference):
    """A check with a bug"""
    student.triple(torch.zeros(1))
    raise KeyError("bug")


@pytest.mark.check("triple")
def test_writes(student, reference):
    """A check that writes to a shared input"""
    reference.numbers(5).zero_()
'''
    toml = '[checks."triple/buggy"]\npoints = 1\nstretch = true\n[checks."triple/writes"]\npoints = 1\nstretch = true'
    folder = trio(tmp_path, hidden=checks, toml=toml)

    runs = run_sources(folder, {"one": SOLVED, "two": SOLVED})

    for one in runs.values():
        seen = outcomes(one)
        assert seen == ALL_PASSED | {"triple/buggy": "grader_error", "triple/writes": "grader_error"}
        evidence = {record.check: record.evidence for record in one.records}["triple/buggy"]
        assert evidence is not None and "KeyError" in evidence.detail


def test_an_answer_that_trips_a_check_is_a_failure_and_not_our_fault(tmp_path: Path) -> None:
    """A check that breaks on a submission's answer and not on the solution's costs the submission its points."""
    check = '''

@pytest.mark.check("triple")
def test_naive(student, reference):
    """A check that trusts what comes back"""
    assert student.triple(torch.ones(2)).shape == (2,)
'''
    folder = trio(tmp_path, hidden=check, toml='[checks."triple/naive"]\npoints = 1\nstretch = true')

    runs = run_sources(folder, {"none": broken("triple", "return None"), "solved": SOLVED})

    record = next(record for record in runs["none"].records if record.check == "triple/naive")
    assert record.outcome == "failed"
    assert record.evidence is not None
    assert record.evidence.kind == "unusable"
    assert "NoneType" in record.evidence.detail
    assert outcomes(runs["solved"])["triple/naive"] == "passed"


def test_a_check_for_cuda_is_not_run_without_it(tmp_path: Path) -> None:
    """Its points stay pending: it is neither passed nor failed."""
    check = '''

@pytest.mark.check("triple", device="cuda")
def test_cuda(student, reference):
    """On a GPU"""
    student.triple(torch.zeros(1))
'''
    folder = trio(tmp_path, hidden=check, toml='[checks."triple/cuda"]\npoints = 1\nstretch = true')

    one = run_sources(folder, {"s": SOLVED})["s"]

    assert outcomes(one)["triple/cuda"] == "not_run"


def test_what_is_printed_is_kept_from_both_ends(folder: Path) -> None:
    """The run holds the head and the tail of the output, and says how much lies between."""
    source = SOLVED + "print('first line')\nprint('y' * 10**6)\nprint('last line')\n"

    one = run_sources(folder, {"s": source})["s"]

    assert outcomes(one) == ALL_PASSED
    assert one.output.startswith("first line")
    assert one.output.rstrip().endswith("last line")
    assert "bytes left out" in one.output and len(one.output) < 70_000


def test_a_large_file_is_graded_like_a_small_one(folder: Path) -> None:
    """Up to the 1 MiB that intake takes, whatever is in it, and with tens of thousands of statements."""
    text = SOLVED + "NOTES = r'''\n" + "I tried \\ this and that. \n" * 38_000 + "'''\n"
    many = SOLVED + "a = 1\n" * 30_000

    runs = run_sources(folder, {"text": text, "many": many})

    assert len(text.encode()) > 900_000
    assert {name: outcomes(one) for name, one in runs.items()} == {"text": ALL_PASSED, "many": ALL_PASSED}


def test_two_wrong_solutions_in_one_file_earn_no_more_than_one(folder: Path) -> None:
    """A file that chooses by a worker's first call which mistake to make does not get the better half of both."""
    first = SOLVED.replace("x * 3", "x * 4")
    second = SOLVED.replace("return -x", "return x")
    hedge = """
import torch
mode = []
def choose(x):
    if not mode:
        mode.append(x.tolist() == [1.5])
    return mode[0]
def double(x):
    choose(x)
    return x * 2
def triple(x):
    return x * 3 if not choose(x) else x * 4
def negate(x):
    return -x if choose(x) else x
"""

    runs = run_sources(folder, {"first": first, "second": second, "hedge": hedge})

    passed = {name: sum(outcome == "passed" for outcome in outcomes(one).values()) for name, one in runs.items()}
    assert passed["first"] == passed["second"] == 4
    assert passed["hedge"] <= 4


def test_a_file_that_loads_slowly_is_told_so(tmp_path: Path) -> None:
    """No statement is at fault: the sentence says what loading may take, and the search for a culprit has an end."""
    folder = trio(tmp_path)
    toml = folder / "assignment.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("load_s = 1.5", "load_s = 0.8"), encoding="utf-8")
    source = "import time\n" + "time.sleep(0.3)\n" * 8 + SOLVED
    start = time.monotonic()

    one = run_sources(folder, {"s": source})["s"]

    assert set(outcomes(one).values()) == {"errored"}
    evidence = one.records[0].evidence
    assert evidence is not None
    assert "trio.py cannot be loaded: it takes longer than 0.8 s" in evidence.message
    assert time.monotonic() - start < 60  # the session and the zygote included; without an end it would be minutes


def test_a_slow_function_cannot_use_up_the_time_of_the_class(tmp_path: Path) -> None:
    """Calls that never time out are stopped once their exercise has used its time; other exercises are graded."""
    folder = trio(tmp_path)
    toml = folder / "assignment.toml"
    toml.write_text(
        toml.read_text(encoding="utf-8").replace("[limits]", "[limits]\nexercise_s = 1.0"), encoding="utf-8"
    )

    one = run_sources(folder, {"s": broken("double", "import time; time.sleep(0.6); return x * 2")})["s"]

    seen = outcomes(one)
    assert seen["double/double_one"] == "passed"
    assert seen["double/double_many"] == "timed_out"
    assert {seen[check] for check in CHECKS if not check.startswith("double/")} == {"passed"}


# Forbidden calls

REACH = "NAME = ['soft', 'max']\n\n\n"  # so that no reader of the file finds the call
NEEDY = '''

@pytest.mark.check("double", needs=["double_many"])
def test_follower(student, reference):
    """double of a large number"""
    x = torch.tensor([2.0**20])
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="exact in float32")
'''


@pytest.fixture(scope="module")
def strict_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trio assignment with softmax forbidden in two exercises, and a check of `double` that needs another."""
    toml = '[checks."double/follower"]\npoints = 1\nstretch = true'
    folder = trio(tmp_path_factory.mktemp("course"), hidden=NEEDY, toml=toml)
    path = folder / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    for exercise in ("double", "triple"):
        text = text.replace(f'title = "{exercise}"', f'title = "{exercise}"\nforbidden = ["softmax"]')
    path.write_text(text, encoding="utf-8")
    return folder


FORBIDDEN = {
    "written": "if False: torch.softmax(x, -1)\nreturn x * 2",
    "reached": "getattr(x, ''.join(NAME))(-1)\nreturn x * 2",
    "caught": "try: getattr(x, ''.join(NAME))(-1)\nexcept Exception: pass\nreturn x * 2",
    "once": "if x.numel() == 3: getattr(x, ''.join(NAME))(-1)\nreturn x * 2",  # in one case of one check
    "before a follower": "if x.numel() > 1: getattr(x, ''.join(NAME))(-1)\nreturn x * 2",
    "and wrong": "if x.numel() == 1: getattr(x, ''.join(NAME))(-1)\nreturn x",
}


JOURNAL: dict[str, list[Record]] = {}


@pytest.fixture(scope="module")
def forbidden_runs(strict_folder: Path) -> dict[str, Run]:
    """Every way to use what is forbidden in `double`; and the same calls in `negate`, which may."""
    sources = {name: REACH + broken("double", body) for name, body in FORBIDDEN.items()}
    allowed = REACH + broken("negate", FORBIDDEN["reached"].replace("x * 2", "-x"))
    return run_sources(strict_folder, sources | {"allowed": allowed, "solved": SOLVED}, journal=JOURNAL)


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_call_costs_all_checks_of_its_exercise(forbidden_runs: dict[str, Run], name: str) -> None:
    """In whichever check it happens: all fail with one sentence, skipped ones too, and no other exercise does."""
    one = forbidden_runs[name]
    seen = outcomes(one)

    assert {check: seen[check] for check in CHECKS} == lost("double", "failed")
    assert seen["double/follower"] == "failed"
    told = [record.evidence for record in one.records if record.check.startswith("double/")]
    assert {evidence.kind for evidence in told if evidence} == {"forbidden"}
    assert len({evidence.message for evidence in told if evidence}) == 1
    where = "in line 8 of trio.py" if name == "written" else ", somewhere below the functions it calls"
    assert all(evidence and where in evidence.message for evidence in told)
    assert {evidence.line for evidence in told if evidence} == {8 if name == "written" else None}


@pytest.mark.parametrize("name", ["allowed", "solved"])
def test_what_one_exercise_must_do_without_another_may_use(forbidden_runs: dict[str, Run], name: str) -> None:
    """The rule is the exercise's, and nothing of the runs before is left."""
    assert set(outcomes(forbidden_runs[name]).values()) == {"passed"}


def test_withheld_records_are_what_the_journal_holds_last(forbidden_runs: dict[str, Run]) -> None:
    """A check that had passed before the call was seen is settled anew: the last word of the journal is the run's."""
    for name, one in forbidden_runs.items():
        last = {record.check: record for record in JOURNAL[name]}
        assert [last[record.check] for record in one.records] == list(one.records)
    first = next(record for record in JOURNAL["once"] if record.check == "double/double_one")
    assert (first.outcome, outcomes(forbidden_runs["once"])["double/double_one"]) == ("passed", "failed")


# Answers to probes

PROBES = """\
import torch
from grader.probe import call
PROBES = {name: {"two": call(torch.tensor([1.0, 3.0]))} for name in ("double", "triple", "negate")}
"""
SIXTH = '''

@pytest.mark.check("negate")
def test_tiny(student, reference):
    """negate of a tiny number"""
    x = torch.tensor([2.0**-140])
    close(student.negate(x), -x.double(), dtype=x.dtype, limit=0, reason="exact in float32")
'''


def test_answers_are_stored_for_exercises_that_lost_core_points(tmp_path: Path) -> None:
    """By a wrong answer, an error or a time-out; not for what is unwritten, forbidden, right, or lost as bonus."""
    toml = '[checks."negate/tiny"]\npoints = 1\nstretch = true'
    folder = trio(tmp_path, hidden=SIXTH, toml=toml)
    (folder / "probes.py").write_text(PROBES, encoding="utf-8")
    probes = read_probes(folder, spec.load(folder).exercises)
    signatures = Signatures(SCHEMA, probes, {}, ())
    (folder / SIGNATURES).write_bytes(msgspec.json.encode(signatures))
    path = folder / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('title = "negate"', 'title = "n"\nforbidden = ["softmax"]'), encoding="utf-8")
    bodies = {
        "right": "return x * 2",
        "wrong": "return x * 5",
        "raises": "raise ValueError",
        "hangs": "while True: pass",
        "dies": "import os; os._exit(3)",
        "unwritten": "raise NotImplementedError",
        "half unwritten": "if x.numel() > 1: raise NotImplementedError\nreturn x * 5",
        "state": "global f\nfirst = 'f' not in globals()\nf = 1\nreturn x * 5 if first else x * 7",
    }
    sources = {name: broken("double", body) for name, body in bodies.items()}
    sources |= {
        "missing": SOLVED.replace("def double", "def doubl"),
        "forbidden": broken("negate", "return torch.softmax(x, -1)"),
        "bonus": broken("negate", "return -x if x.abs().max() > 1e-30 else x"),
        "both": broken("double", "return x * 5").replace("x * 3", "x * 4"),
        "broken": "import os\n" + "os._exit(1)\n" * 9,
    }

    runs = run_sources(folder, sources)

    def told(name: str) -> dict[str, object]:
        return {
            probe: [part.values for part in answer.parts.values()] or answer.word
            for probe, answer in runs[name].answers.items()
        }

    assert {name: told(name) for name in sources} == {
        "right": {},
        "wrong": {"double/two": [(5.0, 15.0)]},
        "raises": {"double/two": "raised ValueError"},
        "hangs": {"double/two": "timeout"},
        "dies": {"double/two": "crash"},
        "unwritten": {},
        "half unwritten": {"double/two": "raised NotImplementedError"},
        "state": {"double/two": [(5.0, 15.0)]},  # in a worker of its own: what checks have left behind does not speak
        "missing": {},
        "forbidden": {},
        "bonus": {},
        "both": {"double/two": [(5.0, 15.0)], "triple/two": [(4.0, 12.0)]},
        "broken": {f"{exercise}/two": "load" for exercise in EXERCISES},
    }
    digests = {probe.id: probe.digest for probe in probes}
    for one in runs.values():
        assert all(answer.digest == digests[probe] for probe, answer in one.answers.items())


def test_an_unreadable_file_answers_nothing(tmp_path: Path) -> None:
    """There is nobody to ask."""
    folder = trio(tmp_path)
    here = msgspec.structs.replace(course(folder), probes=(Probe("double/x", "double", "", "", "", 1.0, 1.0),))
    nobody = Submission("s", "trio.py", None, "", "not UTF-8")

    one = run(nobody, "0001", here, Mock(), Mock())

    assert one.answers == {}
    assert {str(record.outcome) for record in one.records} == {"errored"}
