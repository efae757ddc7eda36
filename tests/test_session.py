"""The lean loop gives what pytest gives, forgets everything between submissions, and collects once."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import spec
from grader.errors import SpecError
from grader.handle import LocalHandle
from grader.isolation import Zygote
from grader.model import Outcome
from grader.reference import Reference, load_module
from grader.run import run
from grader.session import Checks, Truth, with_checks
from tests.arena import CHECKS, SECRET, SOLVED, course, run_sources, submission, trio

WRONG = SOLVED.replace("x * 3", "x * 4")

TRAPS = """

seen = []


@pytest.fixture(scope="module")
def per_submission():
    seen.append("module up")
    yield
    seen.append("module down")


@pytest.fixture
def per_check():
    seen.append("function up")
    yield
    seen.append("function down")
"""


def truth_of(folder: Path) -> Reference:
    """The reference under the tests' secret."""
    return Reference(load_module(folder / "reference.py"), SECRET)


@pytest.mark.slow
def test_outcomes_equal_plain_pytest(tmp_path: Path, plain_outcomes: Callable[[Path, str], dict[str, str]]) -> None:
    """On right, wrong and unfinished files every check has the outcome that plain pytest gives it."""
    folder = trio(tmp_path)
    for source in (SOLVED, WRONG, SOLVED.replace("return -x", "raise NotImplementedError")):
        plain = plain_outcomes(folder, source)

        lean = {record.check: record.outcome for record in run_sources(folder, {"s": source})["s"].records}

        assert {check: "passed" if outcome is Outcome.PASSED else "failed" for check, outcome in lean.items()} == plain


@pytest.mark.slow
def test_three_students_in_both_orders_give_the_records_each_gives_alone(tmp_path: Path) -> None:
    """Evidence and outcomes do not depend on who was graded before."""
    folder = trio(tmp_path)
    students = {"ada": SOLVED, "bob": WRONG, "eve": SOLVED.replace("def negate", "def negated")}

    def stripped(students: dict[str, str]) -> dict[str, list[tuple[object, ...]]]:
        runs = run_sources(folder, students)
        return {
            name: [(record.check, record.outcome, record.evidence, record.unstable) for record in one.records]
            for name, one in runs.items()
        }

    alone = {name: stripped({name: source})[name] for name, source in students.items()}

    assert stripped(students) == alone
    assert stripped(dict(reversed(students.items()))) == alone


def test_fixtures_live_as_long_as_their_scope_says(tmp_path: Path) -> None:
    """Function fixtures end with their case; a module fixture serves one pass and never the next submission."""
    folder = trio(tmp_path)
    path = folder / "checks" / "hidden" / "test_trio.py"
    text = path.read_text(encoding="utf-8").replace(
        "(student, reference", "(per_submission, per_check, student, reference"
    )
    path.write_text(text + TRAPS, encoding="utf-8")
    public = spec.load(trio(tmp_path / "twin")).hidden_checks  # the changed file itself asks for fixtures spec refuses
    events: list[list[str]] = []

    def body(checks: Checks) -> None:
        seen = checks.items[CHECKS[0]][0].obj.__globals__["seen"]
        for _ in range(2):
            handle = LocalHandle(SOLVED, "trio.py")
            for check in public:
                checks.play(check, handle)
            events.append(list(seen))
        checks.rest()
        events.append(list(seen))

    with_checks(folder, public, truth_of(folder), body)

    one_pass = ["module up", *["function up", "function down"] * 9]
    assert events[0] == one_pass
    assert events[1] == [*one_pass, "module down", *one_pass]
    assert events[2] == [*one_pass, "module down", *one_pass, "module down"]


def test_what_a_check_printed_does_not_reach_the_next_record(tmp_path: Path) -> None:
    """pytest keeps report sections and user properties on the item; they are cleared after each run."""
    folder = trio(tmp_path)

    def body(checks: Checks) -> None:
        check = spec.load(folder).hidden_checks[0]
        item = checks.items[check.id][0]
        item.add_report_section("call", "stdout", "left by one student")
        item.user_properties.append(("left", "by one student"))
        checks.play(check, LocalHandle(SOLVED, "trio.py"))
        assert item._report_sections == []
        assert item.user_properties == []

    with_checks(folder, spec.load(folder).hidden_checks, truth_of(folder), body)


def test_the_smallest_failing_case_is_the_evidence(tmp_path: Path) -> None:
    """Of the cases with five and three numbers, the one with three is shown."""
    folder = trio(tmp_path)

    one = run_sources(folder, {"s": WRONG})["s"]

    evidence = {record.check: record.evidence for record in one.records}["triple/triple_many"]
    assert evidence is not None
    assert evidence.case == "3" and evidence.size == 3


def test_a_file_that_cannot_be_collected_is_named(tmp_path: Path) -> None:
    """An import error in a check file is the instructor's problem, told with the file, before anything runs."""
    folder = trio(tmp_path)
    checks = spec.load(folder).hidden_checks
    path = folder / "checks" / "hidden" / "test_trio.py"
    path.write_text("import no_such_module\n" + path.read_text(encoding="utf-8"), encoding="utf-8")

    with pytest.raises(SpecError, match=r"(?s)test_trio\.py.*no_such_module"):
        with_checks(folder, checks, truth_of(folder), lambda checks: None)


def test_two_assignments_with_files_of_the_same_name_do_not_mix(tmp_path: Path) -> None:
    """Python's module cache would hand the first assignment's checks to the second."""
    first = trio(tmp_path / "one")
    extra = '\n\n@pytest.mark.check("double")\ndef test_extra(student, reference):\n    """Extra"""\n    assert 0\n'
    second = trio(tmp_path / "two", hidden=extra, toml='[checks."double/extra"]\npoints = 1\nstretch = true')

    def ids(folder: Path) -> set[str]:
        found: set[str] = set()
        with_checks(
            folder, spec.load(folder).hidden_checks, truth_of(folder), lambda checks: found.update(checks.items)
        )
        return found

    assert ids(second) - ids(first) == {"double/extra"}


def test_what_the_body_raises_reaches_the_caller(tmp_path: Path) -> None:
    """pytest would turn it into its own exit code; an interruption must stay one."""
    folder = trio(tmp_path)

    def body(checks: Checks) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_checks(folder, spec.load(folder).hidden_checks, truth_of(folder), body)


@pytest.mark.slow
def test_a_thousand_passes_leave_memory_as_it_was(tmp_path: Path) -> None:
    """Between pass 200 and pass 1,200 the process grows by less than 3 % (the first passes fill caches)."""
    folder = trio(tmp_path)
    sizes: list[int] = []

    def resident() -> int:
        gc.collect()
        status = Path("/proc/self/statm").read_text(encoding="ascii")
        return int(status.split()[1])

    here = course(folder)

    def body(checks: Checks) -> None:
        with Zygote(here.assignment.limits, "process") as zygote:
            for count in range(1200):
                source = WRONG if count % 3 == 0 else SOLVED
                run(submission("s", source), "0001", here, checks, zygote)
                if count in (199, 1199):
                    sizes.append(resident())

    with_checks(folder, here.assignment.hidden_checks, truth_of(folder), body)

    assert sizes[1] / sizes[0] < 1.03  # the promise; an evidence kept per pass would be several times that


def test_the_truth_can_be_anything_that_verifies(tmp_path: Path) -> None:
    """The session asks the reference nothing but `verify`, once after each case."""
    folder = trio(tmp_path)

    class Counting:
        def __init__(self) -> None:
            self.verified = 0
            self.inner = truth_of(folder)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def verify(self) -> None:
            self.verified += 1

    counting = Counting()
    truth: Truth = counting

    def body(checks: Checks) -> None:
        for check in spec.load(folder).hidden_checks:
            checks.play(check, LocalHandle(SOLVED, "trio.py"))

    with_checks(folder, spec.load(folder).hidden_checks, truth, body)

    assert counting.verified == 9  # three checks of one case, three of two
