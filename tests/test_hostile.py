"""No attack of the corpus reaches its goal where it is isolated, and each of them does where it is not."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import msgspec
import pytest

from grader import bubblewrap
from grader.errors import EnvironmentRefused
from grader.model import Outcome
from tests.attacks import CORPUS, PLAIN, Attack, Seen, as_root_elsewhere, as_user, attacks

ATTACKS = attacks()
SECTIONS = {"A": range(1, 20), "B": range(20, 34), "C": range(34, 49), "D": range(49, 62), "E": range(62, 67)}
NEEDS_ROOT = "needs root, to become another user"
WAYS = {  # how grading is started; the tier; by which user, if not by the one who runs the tests
    "namespace": ("namespace", None),
    "container": ("container", as_root_elsewhere),
    "namespace_of_a_user": ("namespace", as_user),
    "container_of_a_user": ("container", as_user),
}


@functools.cache
def sitting(way: str, only: str = "", attempt: int = 0) -> dict[str, Seen] | str:
    """What became of every entry, or why this cannot be had here. Another ``attempt`` is another sitting."""
    tier, run_as = WAYS.get(way, (way, None))
    if run_as is not None and os.geteuid() != 0:
        if way != "container":  # which an ordinary user has too
            return NEEDS_ROOT
        run_as = None
    command = [sys.executable, "-m", "tests.attacks", tier, only]
    try:
        command = command if run_as is None else run_as(*command)
    except EnvironmentRefused as error:
        return str(error)
    ended = subprocess.run(command, cwd=CORPUS.parent.parent, capture_output=True, text=True, check=False)
    if ended.returncode == EnvironmentRefused.exit_code:
        return ended.stdout
    seen = [msgspec.json.decode(line, type=Seen) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, f"{way} ended after {[one.name for one in seen][-1:]}: {ended.stderr[-3000:]}"
    return {one.name: one for one in seen}


def found(way: str) -> dict[str, Seen]:
    """As `sitting`; skips the test where it cannot be had."""
    seen = sitting(way)
    if isinstance(seen, str):
        pytest.skip(f"{way}: {seen}")
    return seen


def in_ways(names: list[str]) -> list[object]:
    """Every name in every way, each way a minute; the tests of one way follow each other."""
    return [pytest.param(way, name, id=f"{way}-{name}", marks=pytest.mark.slow) for way in WAYS for name in names]


def test_the_corpus_is_whole() -> None:
    """At least 60 attacks of the catalogue, some of each section; what they lack is told, and seldom lacking."""
    numbers = {attack.catalogue for attack in ATTACKS.values()}
    assert len(numbers) >= 60
    for section in SECTIONS.values():
        assert numbers & set(section)
    for name, attack in ATTACKS.items():
        assert name.startswith(f"{attack.catalogue:02d}_")
        assert (CORPUS / name / "sub.py").exists() or attack.files or attack.links, name
        assert attack.control in ("process", "naive", "none"), name
        assert (attack.control == "none") == bool(attack.why) == (not attack.goal), name
        assert set(attack.outcome) <= {Outcome.FAILED, Outcome.ERRORED, Outcome.TIMED_OUT} or attack.limit, name
    assert sum(attack.control == "none" for attack in ATTACKS.values()) <= 5
    assert {attack.catalogue for attack in ATTACKS.values() if attack.limit} <= {46, 47}


@pytest.mark.slow
def test_whoever_is_root_has_namespaces() -> None:
    """Where the tests run as root, the strongest tier is not skipped."""
    if os.geteuid() != 0:
        pytest.skip("who is not root may lack them")
    assert isinstance(sitting("namespace"), dict)


@pytest.mark.parametrize(("way", "name"), in_ways(list(ATTACKS)))
def test_no_attack_reaches_its_goal(way: str, name: str) -> None:
    """No probe fires, no wrong answer earns, the next one's marks are as alone; the outcome is one that is listed."""
    attack, seen = ATTACKS[name], found(way)[name]
    assert seen.reached == ([attack.goal] if attack.limit else []), seen.told

    outcomes = {outcome for check, outcome in seen.outcomes.items() if check.startswith(attack.exercise)}
    assert outcomes
    assert outcomes <= {*map(str, attack.outcome), "timed_out"}, seen.told  # a busy machine is late with anything


@pytest.mark.parametrize(("way", "name"), in_ways(list(PLAIN)))
def test_the_probes_see_nothing_in_who_does_nothing(way: str, name: str) -> None:
    """A wrong answer without an attack reaches nothing; the right answer earns, so that points would be seen."""
    assert found(way)[name].reached == (["points"] if name == "plainly_right" else [])


def control(attack: Attack, name: str) -> Seen:
    """The entry in its control, up to three times: there, it fights a busy machine too."""
    seen = found(attack.control)[name]
    for attempt in (1, 2):
        if attack.goal not in seen.reached:
            again = sitting(attack.control, name, attempt)
            assert isinstance(again, dict)
            seen = again[name]
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.control != "none"])
def test_without_its_boundary_it_does(name: str) -> None:
    """In the tier without layers, or in a grader that trusts what it runs, the attack reaches what it wants."""
    attack = ATTACKS[name]
    if attack.control == "process" and os.geteuid() != 0:
        pytest.skip("some need root's rights, which the layers are to take away")
    seen = control(attack, name)
    assert attack.goal in seen.reached, seen.told


@pytest.mark.slow
@pytest.mark.parametrize("way", ["process", "naive"])
def test_the_controls_are_graders(way: str) -> None:
    """Both give points for right answers and none for wrong ones, and nothing else happens."""
    seen = found(way)
    assert seen["plainly_wrong"].reached == []
    assert set(seen["plainly_right"].reached) == {"points"} | ({"exit", "report"} if way == "naive" else set())


TELL = "import os; print(os.getuid(), os.getgroups(), open('/proc/self/status').read().split('CapEff:')[1].split()[0])"


def test_another_user_can_be_had() -> None:
    """`as_user` is one without rights or groups, `as_root_elsewhere` is root; both can run this Python."""
    if os.geteuid() != 0:
        pytest.skip(NEEDS_ROOT)
    try:
        bubblewrap.find()
    except EnvironmentRefused as error:
        pytest.skip(str(error))
    user = subprocess.run(as_user(sys.executable, "-c", TELL), capture_output=True, text=True, check=True).stdout
    root = subprocess.run(as_root_elsewhere(sys.executable, "-c", TELL), capture_output=True, text=True, check=True)
    assert user.split() == ["65534", "[]", "0" * 16]
    assert root.stdout.startswith("0 ")
