"""A check sees the same submission from both handles: values, gradients, failures, random numbers, inputs."""

from __future__ import annotations

import contextlib
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader import wire
from grader.handle import Handle, LocalHandle
from grader.isolation import Zygote
from grader.model import CheckFailure
from grader.remote import RemoteHandle
from grader.spec import RESERVED
from tests.handles import FILE, X, remote

SOURCE = """\
import random
from dataclasses import dataclass

import torch
from torch import relu

1 / 0


@dataclass
class Scaled:
    factor: float

    def __call__(self, x):
        return x * self.factor


class ValueError_(ValueError):
    pass


class Fake(Exception):
    pass


Fake.__name__ = "ValueError"


class Unwritten(NotImplementedError, ValueError):
    pass


class Unshowable(Exception):
    def __str__(self):
        raise SystemExit


class Kind:
    def __new__(cls, x):
        return x


scaled = Scaled(3.0)
number = 3
later = lambda x, *, by=1: x + by


def data():
    return {"a": [1, 2.5, None], 3: (True, "ä\\ud800"[:1]), torch.float16: float("-inf"), None: -(2**80)}


def echo(*args, **kwargs):
    return [*args, kwargs]


def odd(dtype):
    return torch.tensor([0.0, -0.0, 1.0], dtype=torch.float32).to(dtype)


def specials():
    return torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0], dtype=torch.bfloat16)


def shapes():
    x = torch.arange(6.0).view(2, 3)
    return x.t(), x[:, ::2], torch.ones(1).expand(4), torch.empty(0, 3), torch.tensor(7), x.requires_grad_()


def parameter():
    return torch.nn.Parameter(torch.ones(2))


def arrived(x):
    return list(x.stride()), list(x.shape), x.requires_grad, x.is_leaf, str(x.dtype), str(x.layout), x.is_contiguous()


def doubled(x):
    return (x + x).to_dense()


def square(x, y=None):
    return x**2 if y is None else x**2 * y


def cube(x):
    return x**3


def linear(x):
    return 2 * x


def detached(x):
    return x.detach() * 2


def draws():
    return torch.rand(2), random.random()


def recurse():
    return recurse()


def raise_(name):
    kinds = {"Fake": Fake, "ValueError_": ValueError_, "Unwritten": Unwritten, "Unshowable": Unshowable}
    raise (kinds.get(name) or getattr(__import__("builtins"), name))("why \\ud800")


def returns(what):
    class Wrapped(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Number(int):
        pass

    return {
        "object": object, "set": lambda: {1}, "complex": lambda: 1j, "bytes": lambda: b"x", "function": lambda: returns,
        "number": lambda: Number(3), "sparse": lambda: torch.eye(2).to_sparse(),
        "wrapped": lambda: Wrapped(torch.ones(2)), "complex tensor": lambda: torch.ones(2, dtype=torch.complex64),
        "meta": lambda: torch.empty(2, device="meta"),
        "huge": lambda: torch.zeros(1).expand(10**12), "long": lambda: "x" * 300_000, "many": lambda: [0] * 30_000,
        "surrogate": lambda: "\\ud800", "key": lambda: {(1, 2): 3}, "named": type("N" * 300_000, (), {}),
    }[what]()  # fmt: skip


def halve_in_place(x):
    return x.mul_(0.5).sum()


def half_written(x):
    if x.numel() > 2:
        raise NotImplementedError
    return x
"""

LINES = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}
RAISES = next(line for text, line in LINES.items() if text.startswith("raise (kinds"))
UNWRITTEN = LINES["raise NotImplementedError"]
AT = f" at line {RAISES} of student.py"
RECURSES = LINES["return recurse()"]
AT_RECURSION = f" at line {RECURSES} of student.py"

SCENARIOS = """\
import torch


def steps(student, x, n):
    for _ in range(n):
        x = student.square(x)
    return {"x": x, "numbers": [student.number]}


def breaks(student):
    return student.raise_("KeyError")
"""


def plain(value: Any) -> Any:
    """``value`` with tensors as dtype, shape and elements in words, so that nan equals nan and 0.0 is not -0.0."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), list(value.shape), repr(value.tolist()), value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def floats(*elements: float, dtype: str = "float32") -> tuple[str, list[int], str, bool]:
    """What `plain` makes of a one-dimensional tensor."""
    return (f"torch.{dtype}", [len(elements)], repr(list(map(float, elements))), False)


# name: the call, and the value it must have
VALUES: dict[str, tuple[Callable[[Handle], Any], Any]] = {
    "data": (
        lambda s: s.data(),
        {"a": [1, 2.5, None], 3: (True, "ä"), torch.float16: float("-inf"), None: -(2**80)},
    ),
    "arguments": (
        lambda s: s.echo(1, "a", None, (2, [3.5]), torch.int8, key={"k": False}),
        [1, "a", None, (2, [3.5]), torch.int8, {"key": {"k": False}}],
    ),
    "specials": (lambda s: s.specials(), ("torch.bfloat16", [4], "[nan, inf, -inf, -0.0]", False)),
    "bool": (lambda s: s.odd(torch.bool), ("torch.bool", [3], "[False, False, True]", False)),
    "int64": (lambda s: s.odd(torch.int64), ("torch.int64", [3], "[0, 0, 1]", False)),
    "float16": (lambda s: s.odd(torch.float16), floats(0.0, -0.0, 1.0, dtype="float16")),
    "shapes": (
        lambda s: s.shapes(),
        (
            ("torch.float32", [3, 2], "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]", False),
            ("torch.float32", [2, 2], "[[0.0, 2.0], [3.0, 5.0]]", False),
            floats(1, 1, 1, 1),
            ("torch.float32", [0, 3], "[]", False),
            ("torch.int64", [], "7", False),
            ("torch.float32", [2, 3], "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]", False),
        ),
    ),
    "parameter": (lambda s: s.parameter(), floats(1, 1)),
    "instance": (lambda s: s.scaled(X), floats(3, -6, 9)),
    "lambda": (lambda s: s.later(1, by=4), 5),
    "imported": (lambda s: s.relu(X), floats(1, 0, 3)),
    "class": (lambda s: s.Kind(2), 2),
    "vjp": (lambda s: s.square.vjp(X), (floats(1, 4, 9), (floats(2, -4, 6),))),
    "vjp cotangent": (
        lambda s: s.square.vjp(X, cotangent=torch.tensor([1.0, 10.0, 0.0])),
        (floats(1, 4, 9), (floats(2, -40, 0),)),
    ),
    "vjp two": (
        lambda s: s.square.vjp(X, torch.tensor(2.0), wrt=(1, 0)),
        (floats(2, 8, 18), (("torch.float32", [], "14.0", False), floats(4, -8, 12))),
    ),
    "vjp unused": (lambda s: s.later.vjp(X, by=torch.ones(3)), (floats(2, -1, 4), (floats(1, 1, 1),))),
    "vjp detached": (lambda s: s.detached.vjp(X), (floats(2, -4, 6), (None,))),
    "vjp no tensor": (lambda s: s.arrived.vjp(X)[1], (None,)),
    "vjp wrong cotangent": (lambda s: s.square.vjp(X, cotangent=torch.ones(2)), (floats(1, 4, 9), (None,))),
    "hvp": (
        lambda s: s.cube.hvp(X, vector=torch.tensor([1.0, 0.0, 2.0])),
        (floats(3, 12, 27), floats(6, -0.0, 36)),
    ),
    "hvp ones": (lambda s: s.cube.hvp(X), (floats(3, 12, 27), floats(6, -12, 18))),
    "hvp second": (lambda s: s.square.hvp(X, X, wrt=1), (floats(1, 4, 9), None)),
    "hvp linear": (lambda s: s.linear.hvp(X), (floats(2, 2, 2), None)),
    "hvp detached": (lambda s: s.detached.hvp(X), (None, None)),
    "play": (lambda s: s.play("steps", x=X, n=2), {"x": floats(1, 16, 81), "numbers": [3]}),
    "with inputs": (
        lambda s: s.halve_in_place.with_inputs(X),
        (("torch.float32", [], "1.0", False), (floats(0.5, -1, 1.5),)),
    ),
    "with inputs kept": (lambda s: s.square.with_inputs(X, X), (floats(1, -8, 27), (floats(1, -2, 3),) * 2)),
    "with inputs by name": (lambda s: s.later.with_inputs(1, by=4), (5, (1,))),
    "raises": (lambda s: s.raise_.raises(ValueError, "ValueError"), None),
    "raises subclass": (lambda s: s.raise_.raises(LookupError, "KeyError"), None),
    "raises own subclass": (lambda s: s.raise_.raises(ValueError, "ValueError_"), None),
    "raises one of": (lambda s: s.raise_.raises((TypeError, ValueError), "TypeError"), None),
    "transposed": (
        lambda s: s.arrived(torch.zeros(3, 2).t()),
        ([1, 2], [2, 3], False, True, "torch.float32", "torch.strided", False),
    ),
    "expanded": (
        lambda s: s.arrived(torch.zeros(1, 2).expand(10**6, 2)),
        ([0, 1], [10**6, 2], False, True, "torch.float32", "torch.strided", False),
    ),
    "stepped": (
        lambda s: s.arrived(torch.zeros(9, dtype=torch.float64)[1::3]),
        ([3], [3], False, True, "torch.float64", "torch.strided", False),
    ),
    "requires_grad": (
        lambda s: s.arrived(torch.zeros(2, requires_grad=True)),
        ([1], [2], True, True, "torch.float32", "torch.strided", True),
    ),
    "float8": (lambda s: s.arrived(torch.zeros(2).to(torch.float8_e5m2))[4], "torch.float8_e5m2"),
    "complex": (lambda s: s.arrived(torch.zeros(2, dtype=torch.complex128).conj())[4], "torch.complex128"),
    "sparse": (
        lambda s: s.doubled(torch.eye(2).to_sparse()),
        ("torch.float32", [2, 2], "[[2.0, 0.0], [0.0, 2.0]]", False),
    ),
    "keyword tensor": (lambda s: s.square(x=X, y=X), floats(1, -8, 27)),
    "half written": (lambda s: s.half_written(X[:2]), floats(1, -2)),
}


def raised(kind: str, category: str = "raised") -> tuple[str, str, int]:
    """The failure of a call of `raise_`."""
    return (category, f"`raise_` raised {kind}{AT}", RAISES)


# name: the call, and the kind, the message and the line of its failure
FAILURES: dict[str, tuple[Callable[[Handle], Any], tuple[str, str, int | None]]] = {
    "raised": (lambda s: s.raise_("KeyError"), raised("KeyError")),
    "own class": (lambda s: s.raise_("Fake"), raised("Exception")),
    "exit": (lambda s: s.raise_("SystemExit"), raised("SystemExit")),
    "stop": (lambda s: s.raise_("GeneratorExit"), raised("GeneratorExit")),
    "memory": (lambda s: s.raise_("MemoryError"), raised("MemoryError", "memory")),
    "unshowable": (lambda s: s.raise_("Unshowable"), raised("Exception")),
    "recursion": (lambda s: s.recurse(), ("raised", f"`recurse` raised RecursionError{AT_RECURSION}", RECURSES)),
    "too many arguments": (lambda s: s.data(1), ("raised", "`data` raised TypeError", None)),
    "no gradient of": (lambda s: s.square.vjp(3), ("raised", "`square` raised AttributeError", None)),
    "unwritten": (
        lambda s: s.half_written(X),
        ("not_implemented", "`half_written` is not written yet: it raises NotImplementedError", UNWRITTEN),
    ),
    "missing": (
        lambda s: s.absent(),
        ("missing", "student.py defines no function `absent`; line 7 failed when the file was loaded", None),
    ),
    "no function": (
        lambda s: s.number(),
        ("missing", "student.py defines no function `number`; line 7 failed when the file was loaded", None),
    ),
    "with inputs raised": (lambda s: s.raise_.with_inputs("KeyError"), raised("KeyError")),
    "raises another": (
        lambda s: s.raise_.raises(ValueError, "TypeError"),
        ("wrong_error", f"`raise_` raised TypeError where it should raise ValueError{AT}", RAISES),
    ),
    "raises a namesake": (
        lambda s: s.raise_.raises((ValueError, TypeError), "Fake"),
        ("wrong_error", f"`raise_` raised Exception where it should raise ValueError or TypeError{AT}", RAISES),
    ),
    "raises unwritten": (
        lambda s: s.raise_.raises(ValueError, "Unwritten"),
        ("not_implemented", "`raise_` is not written yet: it raises NotImplementedError", RAISES),
    ),
    "raises as a stub does": (
        lambda s: s.half_written.raises(RuntimeError, X),
        ("not_implemented", "`half_written` is not written yet: it raises NotImplementedError", UNWRITTEN),
    ),
    "raises nothing": (
        lambda s: s.data.raises(ValueError),
        ("no_error", "`data` returned a value where it should raise ValueError", None),
    ),
    "raises in no function": (
        lambda s: s.absent.raises(ValueError),
        ("missing", "student.py defines no function `absent`; line 7 failed when the file was loaded", None),
    ),
    "play breaks": (lambda s: s.play("breaks"), ("raised", f"`breaks` raised KeyError{AT}", RAISES)),
} | {
    f"returns {what}": (
        lambda s, what=what: s.returns(what),
        ("type", "`returns` returned something that is not plain data (tensors, numbers, text, lists)", None),
    )
    for what in (
        "object", "set", "complex", "bytes", "function", "number", "sparse", "complex tensor", "meta", "huge",
        "wrapped", "long", "many", "surrogate", "key", "named",
    )
}  # fmt: skip


def seen(call: Callable[[Handle], Any], handle: Handle) -> Any:
    """What a call came to, comparable."""
    try:
        return ("value", plain(call(handle)))
    except CheckFailure as failure:
        evidence = failure.evidence
        detail = re.sub(r"message of \d+ bytes", "message", evidence.detail)  # a worker's answer carries a nonce too
        return ("failure", evidence.kind, evidence.message, evidence.line, detail)


@pytest.fixture(scope="module")
def both(zygote: Zygote) -> dict[str, tuple[Any, Any]]:
    """For every call, what it comes to here and in a worker."""
    calls = {name: call for name, (call, _) in [*VALUES.items(), *FAILURES.items()]}
    here = LocalHandle(SOURCE, FILE, SCENARIOS)
    with remote(zygote, SOURCE, scenarios=SCENARIOS) as there:
        answers = {name: (seen(call, here), seen(call, there)) for name, call in calls.items()}
        assert there.workers == 1
    return answers


@pytest.mark.parametrize("name", VALUES)
def test_values_are_the_same_from_both_handles(both: dict[str, tuple[Any, Any]], name: str) -> None:
    """Values, gradients and Hessian products arrive exactly, from a worker as from this process."""
    expected = ("value", VALUES[name][1])

    assert both[name] == (expected, expected)


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_the_same_from_both_handles(both: dict[str, tuple[Any, Any]], name: str) -> None:
    """Kind, message and line say what happened, and all of it, detail included, is the same from both."""
    here, there = both[name]

    assert here[:4] == ("failure", *FAILURES[name][1])
    assert here == there


FORBIDDEN = """\
import torch

NAME = ["soft", "max"]


def reach(x):
    return getattr(x, "".join(NAME))(-1)


def written(x):
    if False:
        return torch.softmax(x, -1)
    return x


def reached(x):
    return reach(x)


def caught(x):
    try:
        return reach(x)
    except RuntimeError:
        raise ValueError


def innocent(x):
    return x * 2


def free(x):
    return torch.softmax(x, -1)
"""
RULES = dict.fromkeys(["written", "reached", "caught", "innocent"], ("logsumexp", "softmax"))
WRITTEN = "`written` uses the library's `softmax` in line 12 of student.py; this exercise is to do without it"
REACHED = "`{}` uses the library's `softmax`, somewhere below the functions it calls; this exercise is to do without it"


def test_a_forbidden_call_is_the_same_failure_from_both_handles(zygote: Zygote) -> None:
    """Found in the file, with its line, or seen when it ran, also if it was caught; whatever the check asks for."""
    asked: dict[str, Callable[[Handle, str], Any]] = {
        "call": lambda s, name: getattr(s, name)(X),
        "vjp": lambda s, name: getattr(s, name).vjp(X),
        "hvp": lambda s, name: getattr(s, name).hvp(X),
        "with_inputs": lambda s, name: getattr(s, name).with_inputs(X),
        "raises": lambda s, name: getattr(s, name).raises(ValueError, X),
        "play": lambda s, name: s.play("run", function=name),
    }
    scenarios = "import torch\ndef run(student, function): return getattr(student, function)(torch.ones(2))\n"
    with remote(zygote, FORBIDDEN, scenarios=scenarios, forbidden=RULES) as there:
        for handle in (LocalHandle(FORBIDDEN, FILE, scenarios, RULES), there):
            for ask in asked.values():
                for name in ("written", "reached", "caught"):
                    handle.begin(f"{name}/check", name)
                    with pytest.raises(CheckFailure) as failure:
                        ask(handle, name)
                    evidence = failure.value.evidence
                    message, line = (WRITTEN, 12) if name == "written" else (REACHED.format(name), None)
                    assert (evidence.kind, evidence.message, evidence.line) == ("forbidden", message, line)
        assert there.workers == 1


def test_a_forbidden_call_concerns_its_own_exercise_only(zygote: Zygote) -> None:
    """The rules are those of the exercise that is being checked, whichever functions its checks call."""
    with remote(zygote, FORBIDDEN, forbidden=RULES) as there:
        for handle in (LocalHandle(FORBIDDEN, FILE, None, RULES), there):
            handle.begin("innocent/check", "innocent")
            assert plain(handle.innocent(X)) == floats(2, -4, 6)
            with pytest.raises(CheckFailure, match="`innocent` uses the library's `softmax`, somewhere below"):
                handle.free(X)
            handle.begin("free/check", "free")
            assert handle.free(torch.zeros(2)).tolist() == [0.5, 0.5]
            assert handle.reached(torch.zeros(2)).tolist() == [0.5, 0.5]
            handle.begin("written/check", "written")
            with pytest.raises(CheckFailure, match="in line 12"):
                handle.innocent(X)
            assert handle.last_call is None  # nothing was asked: there is no input to show


def test_at_home_checks_may_call_what_students_may_not() -> None:
    """They share a process: between two calls of the student the library is whole, and also after a failed one."""
    handle = LocalHandle(FORBIDDEN, FILE, None, RULES)
    handle.begin("reached/check", "reached")
    for function in ("innocent", "reached", "absent"):
        with contextlib.suppress(CheckFailure):
            getattr(handle, function)(X)

        assert torch.softmax(torch.zeros(2), -1).tolist() == [0.5, 0.5]


def test_random_numbers_are_the_same_in_every_call_from_both_handles(zygote: Zygote) -> None:
    """Code that draws at random answers alike, whenever and wherever it is asked."""
    here = LocalHandle(SOURCE, FILE)
    with remote(zygote, SOURCE) as there:
        first = seen(lambda s: s.draws(), here)
        torch.rand(3), random.random()

        assert first == seen(lambda s: s.draws(), here) == seen(lambda s: s.draws(), there)
        there.fresh()
        assert first == seen(lambda s: s.draws(), there)


def test_inputs_are_copies(zygote: Zygote) -> None:
    """A submission that writes to its inputs, also through gradients, does not change the check's tensors."""
    source = "def f(x, more=None):\n    x.data.zero_()\n    more['list'].append(1)\n    return x\n"
    x, more = torch.ones(3), {"list": [torch.ones(1)]}
    with remote(zygote, source) as there:
        for handle in (LocalHandle(source, FILE), there):
            assert plain(handle.f(x, more=more)) == floats(0, 0, 0)
            handle.f.vjp(x, more=more)

            assert plain(x) == floats(1, 1, 1)
            assert x._version == 0
            assert len(more["list"]) == 1


def test_what_a_check_may_not_send_is_not_the_students_fault(zygote: Zygote) -> None:
    """An argument that no wire can carry raises the same error from both handles, and the worker stays."""
    source = "def f(x):\n    return 1\n"
    with remote(zygote, source) as there:
        for handle in (LocalHandle(source, FILE), there):
            for argument in (object(), {1}, torch.empty(1, device="meta"), "x" * 300_000):
                with pytest.raises(wire.ProtocolError):
                    handle.f(argument)
            assert handle.f(0) == 1
        assert there.workers == 1


def test_a_handle_has_no_private_functions_and_no_scenarios_of_its_own() -> None:
    """`student._x` is an AttributeError, so that copying works; `play` without scenarios is the check's own bug."""
    handle = LocalHandle("_x = print\n", FILE)

    assert not hasattr(handle, "_x")
    with pytest.raises(RuntimeError, match=r"no scenarios\.py"):
        handle.play("steps")


def test_ctrl_c_at_home_stops_the_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt during a call or while the file is loaded is the student's own key press."""
    with pytest.raises(KeyboardInterrupt):
        LocalHandle("def f():\n    raise KeyboardInterrupt\n", FILE).f()
    with pytest.raises(KeyboardInterrupt):
        LocalHandle("raise KeyboardInterrupt\n", FILE)


def test_names_that_an_exercise_may_not_have_are_all_there_are() -> None:
    """`spec` refuses every public name of a handle, or an exercise of that name could not be called."""
    handle = LocalHandle("", "empty.py")
    public = {name for name in [*dir(RemoteHandle), *vars(handle)] if not name.startswith("_")}

    assert public | {"output", "served", "workers"} == RESERVED


def test_a_check_cannot_ask_for_an_exception_that_is_not_pythons() -> None:
    """It would fail every student: told as an error of the check."""
    with pytest.raises(TypeError, match="Python's own"):
        LocalHandle("def f(): raise ValueError", "f.py").f.raises(pickle.PicklingError)


def test_one_exception_cannot_keep_several_promises() -> None:
    """A class that inherits from every type a check may ask for counts as the first of them only."""
    source = "class E(TypeError, ValueError, IndexError): pass\ndef f(): raise E"
    handle = LocalHandle(source, "f.py")

    handle.f.raises(TypeError)
    handle.f.raises((KeyError, Exception))
    with pytest.raises(CheckFailure):
        handle.f.raises(ValueError)
