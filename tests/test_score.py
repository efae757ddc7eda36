"""Runs to points: exactly additive, within bounds, and never a word of what is hidden."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import (
    Answer,
    Assignment,
    Case,
    Check,
    CheckScore,
    Evidence,
    Exercise,
    Isolation,
    Outcome,
    Part,
    Probe,
    Record,
    Run,
    Signature,
    Signatures,
)  # fmt: skip
from grader.score import score

SETTINGS = settings(max_examples=150, deadline=None)
LEAKS = Evidence(
    kind="inexact",
    message="the result is off by 9 eps",
    input="f(CANARY-INPUT)",
    expected="CANARY-EXPECTED",
    got="CANARY-GOT",
    detail="CANARY-DETAIL",
    case="CANARY-CASE",
    reason="CANARY-REASON",
)


def check(name: str, points: float, *, stretch: bool = False, split: bool = False, hidden: bool = True) -> Check:
    """A check `f/<name>`."""
    return Check(
        id=f"f/{name}",
        exercise="f",
        title=f"Title of {name}",
        file="checks/hidden/test_f.py",
        function=f"test_{name}",
        line=1,
        hidden=hidden,
        points=points,
        stretch=stretch,
        split=split,
        needs=("f/first", "f/second") if name == "needy" else (),
    )


def assignment(*checks: Check) -> Assignment:
    """An assignment with these checks."""
    return Assignment("a", "A", "a.py", "/a", "/s", (), checks)


def digests(of: Assignment) -> dict[str, str]:
    """The current digest of each check."""
    return {item.id: f"now {item.id}" for item in of.checks}


def record(of: Check, outcome: Outcome, evidence: Evidence | None = LEAKS, cases: tuple[Case, ...] = ()) -> Record:
    """A record with the current digest."""
    return Record(of.id, f"now {of.id}", outcome, evidence=evidence, cases=cases)


def run(*records: Record, number: str = "0001") -> Run:
    """A run of student ada."""
    isolation = Isolation("process", ())
    return Run(1, "a", "ada", number, "a.py", "0" * 64, "s", "cpu", isolation, {}, "2026-01-01T00:00:00Z", 1.0, records)


def cases(*passed: bool) -> tuple[Case, ...]:
    """One case for each, passed or failed."""
    return tuple(Case(str(i), Outcome.PASSED if ok else Outcome.FAILED) for i, ok in enumerate(passed))


def line_of(of: Check, *records: Record) -> CheckScore:
    """The line of one check, one run for each record."""
    whole = assignment(of)
    (line,) = score([run(item) for item in records], whole, digests(whole)).checks
    return line


# Single checks


@pytest.mark.parametrize("outcome", Outcome)
def test_only_passing_earns(outcome: Outcome) -> None:
    """A check earns all its points when it passed and none otherwise; the maximum stays."""
    line = line_of(check("x", 2.5), record(check("x", 2.5), outcome))
    assert (line.outcome, line.points, line.max_points) == (outcome, 2.5 if outcome is Outcome.PASSED else 0.0, 2.5)


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_pending(outcome: Outcome) -> None:
    """Points are pending when nothing could be observed or we failed: neither earned nor lost."""
    item = check("x", 2.5)
    whole = assignment(item, check("y", 1.0))
    result = score([run(record(item, outcome), record(check("y", 1.0), Outcome.FAILED))], whole, digests(whole))
    assert result.pending_points == (2.5 if outcome in (Outcome.NOT_RUN, Outcome.GRADER_ERROR) else 0.0)


def test_a_check_without_a_record_is_pending() -> None:
    """Silence earns nothing, is pending and does not shrink the maximum."""
    whole = assignment(check("x", 2.0), check("y", 1.0, stretch=True))
    result = score([run()], whole, digests(whole))
    assert (result.points, result.max_points, result.pending_points, result.bonus) == (0.0, 2.0, 2.0, 0.0)
    assert [line.outcome for line in result.checks] == [Outcome.NOT_RUN] * 2


@pytest.mark.parametrize(
    ("passed", "points"), [((True, True, True), 1.0), ((True, False, True), 2 / 3), ((False, False, False), 0.0)]
)
def test_split_checks_share_their_points(passed: tuple[bool, ...], points: float) -> None:
    """Each case that passed earns its share; without `split` a failed case costs all."""
    outcome = Outcome.PASSED if all(passed) else Outcome.FAILED
    item = check("x", 1.0, split=True)
    assert line_of(item, record(item, outcome, cases=cases(*passed))).points == points
    whole = check("x", 1.0)
    assert line_of(whole, record(whole, outcome, cases=cases(*passed))).points == float(all(passed))


@pytest.mark.parametrize("outcome", [Outcome.ERRORED, Outcome.TIMED_OUT])
def test_split_checks_keep_what_passed_before_a_crash(outcome: Outcome) -> None:
    """A case that crashed or hung costs its own share only."""
    item = check("x", 3.0, split=True)
    parts = (Case("0", Outcome.PASSED), Case("1", outcome), Case("2", outcome))
    assert line_of(item, record(item, outcome, cases=parts)).points == 1.0


@pytest.mark.parametrize("outcome", [Outcome.GRADER_ERROR, Outcome.NOT_RUN])
def test_split_checks_are_pending_as_a_whole(outcome: Outcome) -> None:
    """Where our own fault spoiled a split check, none of its points is given yet."""
    item = check("x", 3.0, split=True)
    parts = (Case("0", Outcome.PASSED), Case("1", outcome))
    line = line_of(item, record(item, outcome, cases=parts))
    assert (line.points, line.outcome) == (0.0, outcome)


def test_split_checks_without_cases() -> None:
    """A split check that was skipped, or lost before its first case, earns nothing."""
    item = check("x", 3.0, split=True)
    assert line_of(item, record(item, Outcome.SKIPPED)).points == 0.0


# Several records


def test_the_newest_record_counts() -> None:
    """A later run replaces an earlier one, for better or worse, also by our own fault."""
    item = check("x", 1.0)
    for before, after in itertools.permutations(set(Outcome) - {Outcome.NOT_RUN}, 2):
        assert line_of(item, record(item, before), record(item, after)).outcome is after


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.NOT_RUN}))
def test_not_run_never_overrides(outcome: Outcome) -> None:
    """A run without the device neither takes nor hides what a run with it observed, before or after."""
    item = check("x", 1.0)
    nothing, something = record(item, Outcome.NOT_RUN), record(item, outcome)
    assert line_of(item, something, nothing).outcome is outcome
    assert line_of(item, nothing, something).outcome is outcome
    assert line_of(item, nothing, something, nothing).outcome is outcome


def test_other_digests_do_not_count() -> None:
    """A record of another version of the check says nothing about this one, even if it is newer."""
    item = check("x", 1.0)
    old = Record(item.id, "another digest", Outcome.PASSED)
    assert line_of(item, old).outcome is Outcome.NOT_RUN
    assert line_of(item, old).message == "Title of x: not graded yet with this version of the check"
    assert line_of(item, record(item, Outcome.FAILED), old).outcome is Outcome.FAILED


def test_a_check_that_is_gone_does_not_count() -> None:
    """Records of checks that the assignment no longer has earn nothing, nor do public ones."""
    public = check("home", 5.0, hidden=False)
    whole = assignment(check("x", 1.0), public)
    gone = Record("f/gone", "now f/gone", Outcome.PASSED)
    result = score([run(gone, record(public, Outcome.PASSED))], whole, {**digests(whole), "f/gone": "now f/gone"})
    assert (result.points, result.max_points, len(result.checks)) == (0.0, 1.0, 1)


def test_later_runs_fill_in() -> None:
    """Two runs that each observed a part make one score, which names the newest of them."""
    cpu, cuda = check("cpu", 2.0), check("cuda", 3.0)
    whole = assignment(cpu, cuda)
    runs = [
        run(record(cpu, Outcome.PASSED), record(cuda, Outcome.NOT_RUN)),
        run(record(cuda, Outcome.PASSED), number="0002"),
    ]
    result = score(iter(runs), whole, digests(whole))
    assert (result.points, result.pending_points) == (5.0, 0.0)
    assert (result.student, result.run) == ("ada", "runs/ada/0002.json")


# Sums


def test_decimals_are_exact() -> None:
    """Ten tenths are one: points are added as they were written."""
    items = [check(str(i), 0.1) for i in range(10)]
    whole = assignment(*items)
    result = score([run(*(record(item, Outcome.PASSED) for item in items))], whole, digests(whole))
    assert (result.points, result.max_points) == (1.0, 1.0)
    assert sum([0.1] * 10) != 1.0  # what it would be otherwise


def test_stretch_is_bonus() -> None:
    """Stretch points are bonus: never in the points, the maximum or what is pending."""
    core, stretch, open_ = check("core", 2.0), check("stretch", 1.5, stretch=True), check("open", 4.0, stretch=True)
    whole = assignment(core, stretch, open_)
    runs = [run(record(core, Outcome.FAILED), record(stretch, Outcome.PASSED), record(open_, Outcome.NOT_RUN))]
    result = score(runs, whole, digests(whole))
    assert (result.points, result.max_points, result.bonus, result.pending_points) == (0.0, 2.0, 1.5, 0.0)
    assert [line.stretch for line in result.checks] == [False, True, True]


POINTS = st.integers(1, 10_000).map(lambda cents: float(Decimal(cents) / 100))
CHECKS = st.lists(st.tuples(POINTS, st.booleans(), st.booleans()), min_size=1, max_size=8)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Assignment, list[Run]]:
    """An assignment and runs in which anything may have happened."""
    items = [check(f"c{i}", p, stretch=s, split=c) for i, (p, s, c) in enumerate(draw(CHECKS))]
    runs = []
    for number in range(draw(st.integers(1, 3))):
        records = []
        for item in draw(st.lists(st.sampled_from(items), max_size=8)):
            passed = draw(st.lists(st.booleans(), max_size=7))
            outcome = draw(st.sampled_from(Outcome))
            made = record(item, outcome, draw(st.sampled_from([None, LEAKS])), cases(*passed))
            records.append(msgspec.structs.replace(made, digest="old") if draw(st.integers(0, 4)) == 0 else made)
        runs.append(run(*records, number=f"{number + 1:04d}"))
    return assignment(*items), runs


@SETTINGS
@given(histories())
def test_points_add_up_and_stay_within_bounds(history: tuple[Assignment, list[Run]]) -> None:
    """Whatever happened: finite, from 0 to the maximum, the sum of the lines, and the maximum that was announced."""
    whole, runs = history
    result = score(runs, whole, digests(whole))
    core = [line for line in result.checks if not line.stretch]
    extra = [line for line in result.checks if line.stretch]

    def exact(numbers: list[float]) -> float:
        return float(sum((Fraction(str(number)) for number in numbers), Fraction(0)))

    assert [line.id for line in result.checks] == [item.id for item in whole.checks]
    assert result.max_points == exact([item.points for item in whole.checks if not item.stretch])
    assert result.points == exact([line.points for line in core])
    assert result.bonus == exact([line.points for line in extra])
    assert all(math.isfinite(line.points) and 0 <= line.points <= line.max_points for line in result.checks)
    assert 0 <= result.points + result.pending_points <= result.max_points + 1e-9  # two roundings of a sum below 1000
    assert 0 <= result.bonus <= exact([line.max_points for line in extra])
    assert msgspec.json.decode(msgspec.json.encode(result), type=type(result)) == result


@SETTINGS
@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(history: tuple[Assignment, list[Run]], order: random.Random) -> None:
    """Shuffling the assignment's checks, or the records of different checks, changes no point."""
    whole, runs = history
    before = score(runs, whole, digests(whole))
    checks = list(whole.checks)
    order.shuffle(checks)
    shuffled = []
    for item in runs:
        last = {
            each.check: each for each in item.records if each.outcome is not Outcome.NOT_RUN and each.digest != "old"
        }
        records = [last.get(check.id) for check in checks]
        kept = [each for each in records if each is not None]
        shuffled.append(msgspec.structs.replace(item, records=tuple(kept)))
    after = score(shuffled, assignment(*checks), digests(whole))
    assert (after.points, after.bonus, after.max_points) == (before.points, before.bonus, before.max_points)
    assert after.pending_points == before.pending_points
    assert {(line.id, line.points) for line in after.checks} == {(line.id, line.points) for line in before.checks}


@SETTINGS
@given(histories())
def test_the_maximum_does_not_depend_on_the_runs(history: tuple[Assignment, list[Run]]) -> None:
    """The maximum of each check and of the whole is the same for the best, the worst and no work."""
    whole, runs = history
    some, none = score(runs, whole, digests(whole)), score([run()], whole, digests(whole))
    assert some.max_points == none.max_points
    assert [line.max_points for line in some.checks] == [line.max_points for line in none.checks]


def test_the_same_score_each_time() -> None:
    """Scoring is pure: it changes nothing and repeats."""
    item = check("x", 0.3)
    whole, runs = assignment(item), [run(record(item, Outcome.PASSED))]
    now = digests(whole)
    before = (msgspec.json.encode(whole), msgspec.json.encode(runs), dict(now))
    assert score(runs, whole, now) == score(runs, whole, now)
    assert (msgspec.json.encode(whole), msgspec.json.encode(runs), now) == before


# Mistakes

WRONG = Answer("value", {"value": Part("float32", (1,), (7.0,))}, "digest")
OTHER = Answer("value", {"value": Part("float32", (1,), ("nan",))}, "digest")
KNOWN = Signatures(
    1,
    tuple(Probe(f"{name}/p", name, "", "", "digest", 1.0, 1.0) for name in ("g", "f")),
    {f"{name}/p": Answer("value", {"value": Part("float32", (1,), (1.0,))}) for name in ("g", "f")},
    tuple(
        Signature(id_, name, f"{id_} in {name}", {f"{name}/p": answer})
        for name in ("g", "f")
        for id_, answer in (("seven", WRONG), ("none", OTHER))
    ),
)


def told(*runs: Run, stretch: bool = False, signatures: Signatures | None = KNOWN) -> list[str]:
    """The sentences for these runs of an assignment with an exercise `f` of two checks, and another one, `g`."""
    exercises = tuple(Exercise(name, name, 1.0) for name in ("f", "g"))
    checks = (check("x", 1.0), check("y", 1.0, stretch=stretch))
    whole = Assignment("a", "A", "a.py", "/a", "/s", exercises, checks)
    return [found.message for found in score(runs, whole, digests(whole), signatures).mistakes]


def answering(x: Outcome, y: Outcome, answer: Answer, number: str = "0001") -> Run:
    """A run with these outcomes, whose submission gives one answer to every probe."""
    one = run(record(check("x", 1.0), x), record(check("y", 1.0), y), number=number)
    return msgspec.structs.replace(one, answers={"f/p": answer, "g/p": answer})


def test_a_mistake_is_named_for_an_exercise_that_lost_points() -> None:
    """With the sentence of the gallery; not for the other exercise, whose points are all there or that has none."""
    assert told(answering(Outcome.PASSED, Outcome.FAILED, WRONG)) == ["seven in f"]
    assert told(answering(Outcome.ERRORED, Outcome.TIMED_OUT, OTHER)) == ["none in f"]


def test_no_mistake_is_named_where_nothing_was_lost() -> None:
    """Whatever the answers are: full marks need no explanation, and bonus is not lost."""
    assert told(answering(Outcome.PASSED, Outcome.PASSED, WRONG)) == []
    assert told(answering(Outcome.PASSED, Outcome.FAILED, WRONG), stretch=True) == []
    assert told(answering(Outcome.PASSED, Outcome.FAILED, WRONG), signatures=None) == []


def test_mistakes_are_those_of_the_newest_run() -> None:
    """An older run's answers say nothing of the file that was handed in last, and points may be of several runs."""
    old, new = (
        answering(Outcome.FAILED, Outcome.FAILED, WRONG),
        answering(Outcome.FAILED, Outcome.FAILED, OTHER, "0002"),
    )
    silent = msgspec.structs.replace(new, answers={})

    assert told(old, new) == ["none in f"]
    assert told(new, old) == ["seven in f"]
    assert told(old, silent) == []
    assert told(old, answering(Outcome.PASSED, Outcome.PASSED, WRONG, "0002")) == []
    assert told(old, answering(Outcome.NOT_RUN, Outcome.NOT_RUN, OTHER, "0002")) == ["none in f"]


def test_mistakes_cost_nothing() -> None:
    """A named mistake changes neither points nor lines: they are of the checks."""
    one = answering(Outcome.PASSED, Outcome.FAILED, WRONG)
    whole = Assignment("a", "A", "a.py", "/a", "/s", (Exercise("f", "f", 2.0),), (check("x", 1.0), check("y", 1.0)))
    named, silent = score([one], whole, digests(whole), KNOWN), score([one], whole, digests(whole))

    assert [found.id for found in named.mistakes] == ["seven"]
    assert msgspec.structs.replace(named, mistakes=()) == silent


# Messages


@SETTINGS
@given(histories())
def test_no_message_holds_what_is_hidden(history: tuple[Assignment, list[Run]]) -> None:
    """Not an input, an expected value, an answer or a detail is anywhere in a score."""
    whole, runs = history
    assert b"CANARY" not in msgspec.json.encode(score(runs, whole, digests(whole)))


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome.PASSED, ""),
        (Outcome.FAILED, "Title of needy: the result is off by 9 eps"),
        (Outcome.ERRORED, "Title of needy: the result is off by 9 eps"),
        (Outcome.TIMED_OUT, "Title of needy: the result is off by 9 eps"),
        (Outcome.GRADER_ERROR, "Title of needy: the result is off by 9 eps"),
        (Outcome.NOT_RUN, "Title of needy: needs a GPU; these points are pending"),
        (Outcome.SKIPPED, "Title of needy: not tried, because it builds on f/first and f/second"),
    ],
)
def test_messages(outcome: Outcome, message: str) -> None:
    """A message is the check's title and the safe sentence of what happened."""
    item = check("needy", 1.0)
    assert line_of(item, record(item, outcome)).message == message


def test_a_message_without_evidence() -> None:
    """Without evidence the outcome itself is the message."""
    item = check("x", 1.0)
    assert line_of(item, record(item, Outcome.FAILED, None)).message == "Title of x: failed"
