"""The truth is computed once, seeded, kept from being changed, and read back from what was recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.errors import SpecError
from grader.reference import PUBLIC_SEED, RecordedReference, Reference, SharedInputChanged, load_module

SOURCE = """\
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

calls = []


@dataclass
class Plan:
    n: int = 2
    kind: ClassVar[str] = "plan"


def square(x, *, power=2):
    calls.append("square")
    return x.double() ** power


def normal(rng, n, scale=1.0, dtype=torch.float32):
    calls.append("normal")
    return (torch.randn(n, generator=rng, dtype=torch.float64) * scale).to(dtype)


def other(rng, n):
    return torch.randn(n, generator=rng, dtype=torch.float64).float()


def nested(n):
    return {"parts": [torch.zeros(n), (torch.ones(n), 2)], "plan": Plan().n}


def special(dtype, flag, nothing, text):
    return [math.nan, math.inf, dtype, flag, nothing, text, torch.tensor([math.nan])]


def draw(x, rng):
    return rng


def _private():
    return 1
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """The reference.py above."""
    path = tmp_path / "reference.py"
    path.write_text(SOURCE, encoding="utf-8")
    yield load_module(path)
    sys.modules.pop("reference", None)


@pytest.fixture
def reference(module: ModuleType) -> Reference:
    """A reference with a secret of its own."""
    return Reference(module, b"secret")


def test_answers_come_from_the_module(reference: Reference) -> None:
    """A call gives what the module's function gives."""
    assert reference.square(torch.tensor([3.0, -0.5])).tolist() == [9.0, 0.25]
    assert reference.square(torch.tensor([3.0]), power=3).tolist() == [27.0]
    assert reference.nested(1)["plan"] == 2


def test_equal_arguments_are_computed_once(reference: Reference, module: ModuleType) -> None:
    """What counts is the content of the arguments, not which object holds it."""
    first = reference.square(torch.tensor([1.0, 2.0]))
    assert reference.square(torch.tensor([1.0, 2.0])) is first
    assert module.calls == ["square"]


@pytest.mark.parametrize(
    "other",
    [
        ((torch.tensor([1.0, 2.5]),), {}),
        ((torch.tensor([1.0, 2.0], dtype=torch.float64),), {}),
        ((torch.tensor([[1.0, 2.0]]),), {}),
        ((torch.tensor([1, 2]),), {}),
        ((torch.tensor([1.0, 2.0]),), {"power": 3}),
        ((torch.tensor([1.0, 2.0]),), {"power": 2.0}),
    ],
    ids=["value", "dtype", "shape", "kind", "keyword", "type"],
)
def test_other_arguments_are_computed_anew(reference: Reference, module: ModuleType, other: Any) -> None:
    """A difference in value, dtype, shape or keyword is another call."""
    reference.square(torch.tensor([1.0, 2.0]))
    reference.square(*other[0], **other[1])
    assert module.calls == ["square", "square"]


def test_the_arguments_may_change_afterwards(reference: Reference) -> None:
    """An argument that is changed later is another argument, and the first answer stays."""
    x = torch.tensor([2.0])
    first = reference.square(x)
    x += 1
    assert (first.item(), reference.square(x).item()) == (4.0, 9.0)


def test_random_inputs_repeat(module: ModuleType) -> None:
    """The same secret, function and arguments give the same numbers, in whatever order they are asked for."""
    one, two = Reference(module, b"secret"), Reference(module, b"secret")
    two.other(9)
    two.normal(5)
    assert torch.equal(one.normal(8), two.normal(8))


def test_random_inputs_differ(module: ModuleType) -> None:
    """Another secret, function or argument gives other numbers."""
    one, two = Reference(module, b"secret"), Reference(module, b"public")
    assert not torch.equal(one.normal(8), two.normal(8))
    assert not torch.equal(one.normal(8), one.other(8))
    assert not torch.equal(one.normal(8), one.normal(9)[:8])
    assert not torch.equal(one.normal(8, 1.0), one.normal(8, 2.0) / 2)


def test_random_inputs_leave_torch_alone(reference: Reference) -> None:
    """Drawing takes nothing from torch's own generator."""
    state = torch.get_rng_state()
    reference.normal(100)
    assert torch.equal(state, torch.get_rng_state())


def test_only_a_first_parameter_rng_is_given(reference: Reference) -> None:
    """A function gets a generator only for a first parameter called rng."""
    assert reference.draw(1, 2) == 2
    with pytest.raises(TypeError):
        reference.draw(1)


def test_random_inputs_look_random(module: ModuleType) -> None:
    """Drawn numbers have the distribution that the function asked for."""
    drawn = Reference(module, PUBLIC_SEED).normal(10_000, dtype=torch.float64)
    assert abs(drawn.mean().item()) < 0.05  # five standard errors
    assert abs(drawn.std().item() - 1) < 0.036  # five standard errors


def test_a_change_in_place_is_found(reference: Reference, module: ModuleType) -> None:
    """Whoever writes to a shared tensor is found out, once, and the truth is computed again."""
    x = torch.tensor([1.0, 2.0])
    reference.square(x).add_(1)
    with pytest.raises(SharedInputChanged):
        reference.verify()
    reference.verify()
    assert reference.square(x).tolist() == [1.0, 4.0]
    assert module.calls == ["square", "square"]


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["parts"][0].zero_(),
        lambda value: value["parts"][1][0].mul_(2),
        lambda value: value["parts"][0].view(2, 1)[0].fill_(3),
        lambda value: value["parts"][0].requires_grad_().detach().add_(1),
    ],
)
def test_a_change_deep_inside_is_found(reference: Reference, change: Any) -> None:
    """Tensors in lists, tuples and dicts, and their views, are watched too."""
    change(reference.nested(2))
    with pytest.raises(SharedInputChanged):
        reference.verify()


def test_reading_is_no_change(reference: Reference) -> None:
    """Using shared tensors, in as many checks as one likes, is allowed."""
    for _ in range(3):
        value = reference.nested(2)
        value["parts"][0].clone().add_(1)
        reference.square(value["parts"][1][0])
        reference.verify()


def test_a_change_before_another_use_is_found(reference: Reference) -> None:
    """A tensor that was changed and then asked for again does not count as unchanged."""
    reference.square(torch.ones(2)).add_(1)
    reference.square(torch.ones(2))
    with pytest.raises(SharedInputChanged):
        reference.verify()


@pytest.mark.parametrize("name", ["nothing", "_private", "__wrapped__"])
def test_unknown_names(reference: Reference, name: str) -> None:
    """What the module does not define, or keeps to itself, is an AttributeError."""
    with pytest.raises(AttributeError):
        getattr(reference, name)
    with pytest.raises(AttributeError):
        getattr(RecordedReference({}), name if name.startswith("_") else "_x")


def test_recorded_answers_come_back(reference: Reference) -> None:
    """What was recorded is answered without the module, in full, nan and types included."""
    x = torch.tensor([3.0])
    reference.square(x)
    reference.normal(4, dtype=torch.float16)
    reference.special(torch.bfloat16, True, None, "ü")
    recorded = RecordedReference(reference.recorded())
    assert recorded.square(torch.tensor([3.0])).tolist() == [9.0]
    assert torch.equal(recorded.normal(4, dtype=torch.float16), reference.normal(4, dtype=torch.float16))
    nan, inf, dtype, flag, nothing, text, tensor = recorded.special(torch.bfloat16, True, None, "ü")
    assert (nan != nan, inf, dtype, flag, nothing, text) == (True, float("inf"), torch.bfloat16, True, None, "ü")
    assert tensor.isnan().all()
    recorded.verify()


def test_recorded_answers_are_copies(reference: Reference) -> None:
    """At home nobody shares anything: a changed answer is whole again at the next call."""
    reference.square(torch.ones(2))
    recorded = RecordedReference(reference.recorded())
    recorded.square(torch.ones(2)).zero_()
    assert recorded.square(torch.ones(2)).tolist() == [1.0, 1.0]


def test_an_answer_that_was_not_recorded(reference: Reference) -> None:
    """A call that was never recorded says which, and why that may be."""
    recorded = RecordedReference(reference.recorded())
    with pytest.raises(LookupError, match=r"expected\.json has no answer for this call of `reference\.square`"):
        recorded.square(torch.ones(3))


def test_recordings_repeat(module: ModuleType) -> None:
    """Recording twice gives the same text, so that a release does not drift."""
    texts = []
    for _ in range(2):
        reference = Reference(module, PUBLIC_SEED)
        reference.normal(4)
        reference.nested(2)
        texts.append(reference.recorded())
    assert texts[0] == texts[1]
    assert all(text.isascii() for pair in texts[0].items() for text in pair)


def test_no_reference_file(tmp_path: Path) -> None:
    """An assignment without reference.py has an empty one."""
    assert not hasattr(load_module(tmp_path / "reference.py"), "square")


def test_a_reference_that_cannot_be_loaded(tmp_path: Path) -> None:
    """Trusted code that raises is the instructor's to mend: told with the file and the error."""
    path = tmp_path / "reference.py"
    path.write_text("x = 1\nraise KeyError('here')\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"reference\.py cannot be loaded: KeyError: 'here'"):
        load_module(path)
    sys.modules.pop("reference", None)
