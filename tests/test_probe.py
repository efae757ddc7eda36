"""Probes ask a submission small public questions; what it answers is data that goes to JSON and back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from grader import wire
from grader.errors import SpecError
from grader.handle import LocalHandle
from grader.isolation import Zygote
from grader.model import Answer, Exercise, Limits, Part, Probe
from grader.probe import DEFAULT_LIMIT, KEPT, PARTS, UNWRITTEN, ask, read_probes
from tests.handles import FILE, GENEROUS, remote
from tests.test_handle_replies import REPLIES, asked

EXERCISES = [Exercise(name, name, 1.0) for name in ("half", "cube", "odd", "gone", "slow")]
HEAD = "import math\n\nimport torch\n\nfrom grader.probe import call, hvp, vjp, with_inputs\n\n"

SOURCE = """\
import time
import torch


class Own(KeyError):
    pass


def half(x, by=2.0):
    x.mul_(1) if by == 0 else None
    return x / by if by else x.zero_()


def cube(x, y=None):
    return x ** 3 if y is None else x ** 2 * y


def odd(what):
    if what == "raises":
        raise Own("text")
    if what == "unwritten":
        raise NotImplementedError
    return {
        "plain": {"a": [1, 2.5, None, True], "b": ("text", torch.int8)},
        "object": object(),
        "tenth": [torch.tensor(0.1, dtype=d) for d in (torch.float16, torch.float32, torch.float64)],
        "strange": torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0]),
        "flags": torch.tensor([True, False]),
        "whole": torch.tensor([3, -4]),
        "long": torch.arange(100.0).reshape(10, 10),
        "many": list(range(40)),
        "large": [2**53, 2**53 + 1, -(10**400)],
        "wordy": {"k" * 200: "v" * 200},
        "double": torch.tensor([1 / 3], dtype=torch.float64),
        "graph": torch.ones(1, requires_grad=True) * 2,
    }[what]


def slow(x):
    if x == 1:
        time.sleep(60)
    return x
"""

PROBES = """\
X = torch.tensor([1.0, -2.0, 3.0])
PROBES = {
    "half": {
        "odd": call(torch.tensor([1.0, 3.0])),
        "by_name": call(torch.tensor([1.0]), by=4.0, limit=2.0),
        "written": with_inputs(torch.tensor([1.0]), by=0),
    },
    "cube": {
        "slope": vjp(X),
        "upstream": vjp(X, X, wrt=(1, 0), cotangent=torch.tensor([1.0, 0.0, 2.0])),
        "bend": hvp(X, vector=torch.tensor([1.0, 0.0, 2.0])),
        "no_bend": hvp(X, X, wrt=1),
    },
    "odd": {name: call(name) for name in (
        "raises", "unwritten", "plain", "object", "tenth", "strange", "flags", "whole", "long", "many", "large",
        "wordy", "double", "graph",
    )},
    "gone": {"missing": call()},
}
"""


def numbers(*values: float | str, dtype: str = "float32", shape: tuple[int, ...] | None = None) -> Part:
    """One tensor of an answer."""
    return Part(dtype, (len(values),) if shape is None else shape, values)


# What each probe must be answered with, worked out by hand.
EXPECTED: dict[str, tuple[str, dict[str, Part]]] = {
    "half/odd": ("value", {"value": numbers(0.5, 1.5)}),
    "half/by_name": ("value", {"value": numbers(0.25)}),
    "half/written": ("value", {"value.0": numbers(0.0), "value.1.0": numbers(0.0)}),  # it zeroed what it was given
    "cube/slope": ("value", {"value.0": numbers(1.0, -8.0, 27.0), "value.1.0": numbers(3.0, 12.0, 27.0)}),
    "cube/upstream": (  # of x²·y by y: x²; by x: 2·x·y; times (1, 0, 2)
        "value",
        {
            "value.0": numbers(1.0, -8.0, 27.0),
            "value.1.0": numbers(1.0, 0.0, 18.0),
            "value.1.1": numbers(2.0, 0.0, 36.0),
        },
    ),
    "cube/bend": ("value", {"value.0": numbers(3.0, 12.0, 27.0), "value.1": numbers(6.0, -0.0, 36.0)}),
    "cube/no_bend": ("value", {"value.0": numbers(1.0, 4.0, 9.0), "value.1": Part("NoneType", (), ("None",))}),
    "odd/raises": ("raised KeyError", {}),  # the most special class of Python's own: names are not the worker's
    "odd/unwritten": ("raised NotImplementedError", {}),
    "odd/plain": (
        "value",
        {
            "value.a.0": Part("int", (), (1.0,)),
            "value.a.1": Part("float", (), (2.5,)),
            "value.a.2": Part("NoneType", (), ("None",)),
            "value.a.3": Part("bool", (), (1.0,)),
            "value.b.0": Part("str", (), ("text",)),
            "value.b.1": Part("dtype", (), ("torch.int8",)),
        },
    ),
    "odd/object": ("unusable", {}),
    "odd/tenth": (  # the neighbours of 0.1: 0.0999755859375, 0.100000001490116…; nine digits, and all of a double
        "value",
        {
            "value.0": numbers(0.0999755859, dtype="float16", shape=()),
            "value.1": numbers(0.100000001, shape=()),
            "value.2": numbers(0.1, dtype="float64", shape=()),
        },
    ),
    "odd/strange": ("value", {"value": numbers("nan", "inf", "-inf", -0.0)}),
    "odd/flags": ("value", {"value": numbers(1.0, 0.0, dtype="bool")}),
    "odd/whole": ("value", {"value": numbers(3.0, -4.0, dtype="int64")}),
    "odd/long": ("value", {"value": Part("float32", (10, 10), tuple(map(float, range(KEPT))))}),
    "odd/many": ("value", {f"value.{i}": Part("int", (), (float(i),)) for i in range(PARTS)}),
    "odd/large": (
        "value",
        {
            "value.0": Part("int", (), (2.0**53,)),
            "value.1": Part("int", (), ("9007199254740993",)),
            "value.2": Part("int", (), ("-1" + "0" * 78,)),
        },
    ),
    "odd/wordy": ("value", {"value." + "k" * 80: Part("str", (), ("v" * 80,))}),
    "odd/double": ("value", {"value": numbers(1 / 3, dtype="float64")}),
    "odd/graph": ("value", {"value": numbers(2.0)}),
    "gone/missing": ("missing", {}),
}


def probes_of(folder: Path, text: str) -> tuple[Probe, ...]:
    """What a probes.py asks."""
    (folder / "probes.py").write_text(HEAD + text, encoding="utf-8")
    return read_probes(folder, EXERCISES)


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Probe, ...]:
    """The probes of this file."""
    return probes_of(tmp_path_factory.mktemp("assignment"), PROBES)


@pytest.fixture(scope="module")
def answers(probes: tuple[Probe, ...]) -> dict[str, Answer]:
    """What they are answered with in this process."""
    return ask(LocalHandle(SOURCE, FILE), probes)


@pytest.mark.parametrize("name", EXPECTED)
def test_answers_are_what_the_function_gives(answers: dict[str, Answer], name: str) -> None:
    """Values, gradients, arguments afterwards, errors: each as parts by path, in as many digits as its dtype has."""
    word, parts = EXPECTED[name]

    assert (answers[name].word, answers[name].parts) == (word, parts)
    assert [str(value) for part in answers[name].parts.values() for value in part.values] == [
        str(value) for part in parts.values() for value in part.values
    ]  # -0.0 equals 0.0, and is another answer


def test_answers_are_complete_ordered_and_survive_json(probes: tuple[Probe, ...], answers: dict[str, Answer]) -> None:
    """Each probe has its answer, in the order of probes.py, with the digest of its request; JSON loses nothing."""
    assert list(answers) == list(EXPECTED)
    assert [answer.digest for answer in answers.values()] == [probe.digest for probe in probes]
    assert msgspec.json.decode(msgspec.json.encode(answers), type=dict[str, Answer]) == answers


def test_a_worker_answers_as_this_process_does(
    zygote: Zygote, probes: tuple[Probe, ...], answers: dict[str, Answer]
) -> None:
    """From a worker come the same answers, all of them from one."""
    with remote(zygote, SOURCE) as handle:
        assert ask(handle, probes) == answers
        assert handle.workers == 1


def test_probes_are_records_of_their_calls(probes: tuple[Probe, ...]) -> None:
    """A probe says for people what it asks, how close is equal, how large its inputs are, and what it sends."""
    by_id = {probe.id: probe for probe in probes}
    odd, by_name = by_id["half/odd"], by_id["half/by_name"]

    assert (odd.exercise, odd.call) == ("half", "half([1, 3] float32[2])")
    assert (odd.limit, odd.scale, by_name.limit, by_name.scale) == (DEFAULT_LIMIT, 3.0, 2.0, 4.0)
    assert by_name.call == "half([1] float32[1], by=4)"
    assert len({probe.digest for probe in probes}) == len(probes)


@pytest.mark.parametrize(
    ("arguments", "scale"),
    [
        ("torch.tensor([1.0, -7.0]), torch.tensor([100])", 7.0),  # whole numbers are classes and axes
        ("torch.tensor([-math.inf, 2.0, math.nan])", 2.0),
        ("torch.tensor([math.inf])", 0.0),
        ("torch.empty(0)", 0.0),
        ("3", 0.0),
        ("3, k=-8.5", 8.5),
        ("[torch.ones(2), (torch.full((2,), 65504.0, dtype=torch.float16),)], math.inf", 65504.0),
        ("torch.eye(2).to_sparse() * 5", 5.0),
        ("torch.tensor([-2.0]).to(torch.float8_e5m2)", 2.0),
    ],
)
def test_the_scale_is_the_largest_finite_magnitude(tmp_path: Path, arguments: str, scale: float) -> None:
    """Of tensors and numbers with a point, however deep, wherever they stand among the arguments."""
    (probe,) = probes_of(tmp_path, f"PROBES = {{'half': {{'a': call({arguments})}}}}")

    assert probe.scale == scale


def test_a_digest_is_the_requests(tmp_path: Path) -> None:
    """The same question has the same digest wherever and under whatever name it stands; another one has another."""
    kinds = ["call(X)", "call(X + 1)", "call(X.double())", "with_inputs(X)", "vjp(X)", "vjp(X, cotangent=X)", "hvp(X)"]
    text = "X = torch.ones(2)\nPROBES = {'half': {str(i): p for i, p in enumerate([" + ", ".join(kinds) + "])}}"
    first = probes_of(tmp_path, text)
    again = probes_of(tmp_path, text.replace("str(i)", "'p' + str(i)").replace("hvp(X)", "hvp(X, limit=3.0)"))

    assert [probe.digest for probe in first] == [probe.digest for probe in again]
    assert len({probe.digest for probe in first}) == len(kinds)


SLOW = """\
PROBES = {
    "slow": {"before": call(0), "hangs": call(1), "after": call(2), "last": call(1)},
    "half": {"odd": call(torch.tensor([1.0, 3.0]))},
}
"""


def test_after_a_lost_worker_the_rest_of_the_exercise_is_not_asked(zygote: Zygote, tmp_path: Path) -> None:
    """Each further probe could cost its limit of time as well; the other exercises are asked in a new worker."""
    probes = probes_of(tmp_path, SLOW)
    with remote(zygote, SOURCE, Limits(call_s=1.0, memory_mb=1024)) as handle:
        start = time.monotonic()
        answers = ask(handle, probes)

        assert {name: answer.word for name, answer in answers.items()} == {
            "slow/before": "value", "slow/hangs": "timeout", "slow/after": "timeout", "slow/last": "timeout",
            "half/odd": "value",
        }  # fmt: skip
        assert [answer.digest for answer in answers.values()] == [probe.digest for probe in probes]
        assert handle.workers == 2
        assert time.monotonic() - start < 30  # one limit of 1 s, and two starts of a worker; a sleep lasts 60


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("__import__('os')._exit(0)", "crash"),
        ("raise MemoryError", "raised MemoryError"),
        ("x = [bytearray(2**28) for _ in range(64)]", "raised MemoryError"),
    ],
)
def test_what_ends_a_worker_is_the_answer(zygote: Zygote, tmp_path: Path, body: str, word: str) -> None:
    """A crash counts for the rest of its exercise; what was only raised is asked again."""
    source = f"def odd(n):\n    if n: return n\n    {body}\n"
    probes = probes_of(tmp_path, "PROBES = {'odd': {'a': call(0), 'b': call(1)}}")
    with remote(zygote, source) as handle:
        answers = ask(handle, probes)

    assert [answer.word for answer in answers.values()] == [word, word if word == "crash" else "value"]


def test_a_file_that_cannot_be_loaded_answers_so(zygote: Zygote, tmp_path: Path) -> None:
    """In one word, whatever is asked of it."""
    probes = probes_of(tmp_path, "PROBES = {'half': {'a': call(0), 'b': call(1)}, 'odd': {'a': call(0)}}")
    with remote(zygote, "import os\n" + "os._exit(1)\n" * 5, GENEROUS) as handle:
        answers = ask(handle, probes)

    assert [answer.word for answer in answers.values()] == ["load"] * 3


def test_a_forbidden_call_is_an_answer_that_is_no_mistake(tmp_path: Path) -> None:
    """It has its own sentence; it must not be taken for anything in the gallery."""
    source = "import torch\ndef half(x):\n    return getattr(x, 'soft' + 'max')(-1)\n"
    handle = LocalHandle(source, FILE, forbidden={"half": ["softmax"]})

    (answer,) = ask(handle, probes_of(tmp_path, "PROBES = {'half': {'a': call(torch.ones(2))}}")).values()

    assert answer.word == "forbidden"
    assert answer.word in UNWRITTEN


def test_nothing_is_asked_of_nobody(tmp_path: Path) -> None:
    """Without a probes.py there are no probes, and without probes no answers."""
    assert read_probes(tmp_path, EXERCISES) == ()
    assert ask(LocalHandle("1 / 0", FILE), ()) == {}


BAD = {
    "no table": ("", ["defines no dict PROBES"]),
    "another table": ("PROBES = [call(1)]", ["defines no dict PROBES"]),
    "unknown exercise": ("PROBES = {'halve': {'a': call(1)}}", ["'halve' is no exercise with a dict of probes"]),
    "no probes": ("PROBES = {'half': [call(1)]}", ["'half' is no exercise with a dict of probes"]),
    "no probe": (
        "PROBES = {'half': {'a': torch.ones(1)}, 'cube': {'b': call}}",
        ["half/a is no probe — make it with call, vjp, hvp or with_inputs", "cube/b is no probe"],
    ),
    "unsendable": (
        "PROBES = {'half': {'a': call(object()), 'b': vjp(torch.empty(1, device='meta'))}}",
        ["half/a cannot be sent: ", "half/b cannot be sent: "],
    ),
    "broken": ("1 / 0", ["cannot be loaded: ZeroDivisionError"]),
    "no Python": ("PROBES = {", ["cannot be loaded: SyntaxError"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_probes_are_told_all_at_once(tmp_path: Path, name: str) -> None:
    """Each with the file and its place in the table."""
    text, sentences = BAD[name]

    with pytest.raises(SpecError) as caught:
        probes_of(tmp_path, text)

    assert len(caught.value.problems) == len(sentences)
    for problem, sentence in zip(caught.value.problems, sentences, strict=True):
        assert problem.startswith(f"{tmp_path / 'probes.py'}")
        assert sentence in problem


HOSTILE: list[dict[str, Any]] = [
    {"value": {"a": {"b": [torch.ones(2)] * 50}}},
    {"value": {f"{'x' * 3000}{i}": [0] * 3 for i in range(40)}},
    {"value": [10**3999, -(10**3999), {10**3999: 1}]},
    {"value": "\x1b[2J" * 1000},
    {"value": {"": {}, None: (), torch.int8: 2, float("nan"): torch.empty(0, 7)}},
]


@pytest.mark.parametrize("reply", [*REPLIES[:3], *HOSTILE, {"value": [[]] * 5}], ids=lambda reply: repr(reply)[:40])
def test_whatever_a_worker_says_is_a_small_answer(tmp_path: Path, reply: dict[str, Any]) -> None:
    """It never raises, survives JSON, and is bounded: a run keeps it for every submission."""
    probes = probes_of(tmp_path, "PROBES = {'half': {'a': call(1)}}")

    (answer,) = asked(lambda handle: ask(handle, probes), reply).values()

    data = msgspec.json.encode(answer)
    assert msgspec.json.decode(data, type=Answer) == answer
    assert len(data) < PARTS * 64 * 32  # a part has at most 64 numbers of about 20 characters, and a short path


def test_odd_replies_are_unusable(tmp_path: Path) -> None:
    """What is neither a value, an error nor a missing function has one word; nothing of it is kept."""
    probes = probes_of(tmp_path, "PROBES = {'half': {'a': call(1)}}")
    for reply in REPLIES:
        (answer,) = asked(lambda handle: ask(handle, probes), reply).values()
        kind, told = next(iter(reply.items()), ("", None))
        if kind == "raised" and isinstance(told, dict) and "builtins" in told:
            assert answer.word.startswith("raised "), reply
            assert len(answer.word) < 40
        else:
            assert answer.word == ("missing" if kind == "missing" else "unusable"), reply
        assert answer.parts == {}


def test_a_request_is_the_wires_own(probes: tuple[Probe, ...]) -> None:
    """What stands in signatures.json is one frame in base64, which a check's call would send as well."""
    message = wire.unpack_frame(msgspec.json.decode(f'"{probes[0].request}"', type=bytes))

    assert (message["op"], message["name"], message["kwargs"]) == ("call", "half", {})
    assert message["args"][0].tolist() == [1.0, 3.0]
