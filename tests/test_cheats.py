"""Answers that need no thought are there in every form, run, and earn nothing where a check is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from grader.cheats import CHEATS, cheat
from grader.model import Outcome
from tests.arena import CHECKS, EXERCISES, outcomes, run_sources, trio

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
RAISES = {"an exception": {"ValueError"}, "every exception at once": {"ValueError", "IndexError", "TypeError"}}


def answers(name: str, *args: Any) -> list[Any]:
    """What a cheat returns for each exercise."""
    space: dict[str, Any] = {}
    exec(compile(cheat(name, EXERCISES), name, "exec", dont_inherit=True), space)
    return [space[exercise](*args) for exercise in EXERCISES]


@pytest.mark.parametrize("name", sorted(CHEATS.keys() - RAISES))
def test_each_defines_every_exercise_and_answers(name: str) -> None:
    """Whatever further arguments there are; no two look at more than the first argument's shape."""
    for exercise_answers in (answers(name, X), answers(name, X, 1, True)):
        assert len(exercise_answers) == len(EXERCISES)


@pytest.mark.parametrize("name", RAISES)
def test_exceptions_are_raised(name: str) -> None:
    """One of a kind, and one of all kinds that checks ask for."""
    with pytest.raises(ValueError, match=r"^$") as caught:
        answers(name, X)

    assert {base.__name__ for base in type(caught.value).__mro__} >= RAISES[name]


def test_they_answer_what_their_names_say() -> None:
    """So that an instructor who reads the name knows what passed."""
    said = {name: answers(name, X)[0] for name in CHEATS.keys() - RAISES}

    assert said["zeros"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (said["a zero"].item(), said["a zero"].shape) == (0.0, ())
    assert said["the input"] is X
    assert said["the sum"].item() == 10.0
    assert said["nan"].isnan().all() and said["nan"].shape == X.shape
    assert said["inf"].tolist() == [float("inf")] * 2
    assert (said["None"], said["True"]) == (None, True)
    assert said["a tensor of 2**40 elements"].numel() == 2**40
    liar = said["a tensor that answers for itself"]
    assert liar == 3 and torch.allclose(liar, X) is True
    thing = said["an object equal to everything"]
    assert thing == X.shape and thing.anything(1).else_ == 2


def test_none_of_them_earns_anything(tmp_path: Path) -> None:
    """On sound checks every one of them is wrong, and none is our fault."""
    runs = run_sources(trio(tmp_path), {name: cheat(name, EXERCISES) for name in CHEATS})

    for name, one in runs.items():
        seen = outcomes(one)
        assert seen.keys() == set(CHECKS)
        assert not {Outcome.PASSED, Outcome.GRADER_ERROR, Outcome.TIMED_OUT} & set(seen.values()), (name, seen)
