"""Whatever a worker says, a check sees a value or a failure that can be kept; scripted workers say all of it."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.channel import Channel, Closed
from grader.compare import close, same
from grader.handle import NOTHING, Handle
from grader.isolation import Exit, WorkerProcess, Zygote
from grader.model import CheckFailure, Evidence, Limits
from grader.remote import RemoteHandle, WorkerLost
from tests.handles import FILE, GENEROUS, X

Script = Callable[[dict[str, Any]], Iterable[bytes]]


def spoken(reply: dict[str, Any], request: dict[str, Any]) -> bytes:
    """A well-formed reply to ``request``."""
    return wire.pack(reply | {"nonce": request["nonce"]})


def loading(request: dict[str, Any]) -> Iterator[bytes]:
    """What an honest worker says to anything but a call."""
    if request["op"] == "open":
        yield spoken({"lines": torch.ones(1, dtype=torch.int32)}, request)
    elif request["op"] == "execute":
        yield spoken({"faults": []}, request)


class _FakeWorker(WorkerProcess):
    """Says what a script says: raw bytes, a reply's worth or less, at whatever pace."""

    def __init__(self, zygote: Zygote, script: Script) -> None:
        ours, self._theirs = socket.socketpair()
        reader, self._writer = os.pipe()
        os.set_blocking(reader, False)
        super().__init__(zygote, ours, reader)
        self._script = script
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        channel = Channel(self._theirs, trusted=False)
        with self._theirs, contextlib.suppress(Closed, OSError):
            while True:
                request = channel.receive()
                for part in self._script(request):
                    self._theirs.sendall(part)

    def end(self) -> Exit:
        self.sock.close()
        self._thread.join()
        os.close(self.output)
        os.close(self._writer)
        return Exit(0)


class _FakeZygote(Zygote):
    """Forks workers that follow scripts, the last one again and again."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)

    def fork(self) -> WorkerProcess:
        return _FakeWorker(self, self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0])


def answering(make: Callable[[dict[str, Any]], Iterable[bytes]]) -> _FakeZygote:
    """A zygote whose workers load honestly and answer calls with what ``make`` makes."""

    def script(request: dict[str, Any]) -> Iterator[bytes]:
        yield from loading(request) if request["op"] in ("open", "execute") else make(request)

    return _FakeZygote(script)


def drip(data: bytes, seconds: float) -> Iterator[bytes]:
    """Byte for byte."""
    for index in range(len(data)):
        yield data[index : index + 1]
        time.sleep(seconds / len(data))


def head(header: int, body: int, magic: bytes = b"NGR1") -> bytes:
    """The first bytes of a frame."""
    return struct.pack("<4sIQ", magic, header, body)


RAW: dict[str, tuple[Callable[[dict[str, Any]], Iterable[bytes]], str]] = {
    "nothing": (lambda r: [], "timeout"),
    "half a head": (lambda r: [b"NGR1\0"], "timeout"),
    "half a frame": (lambda r: [spoken({"value": 1}, r)[:-1]], "timeout"),
    "slow drip": (lambda r: drip(spoken({"value": 1}, r), 30.0), "timeout"),
    "zeros": (lambda r: [bytes(64)], "protocol"),
    "other magic": (lambda r: [head(2, 0, b"NGR2") + b"[]"], "protocol"),
    "length 2^60": (lambda r: [head(2, 2**60)], "protocol"),
    "header 2^32 - 1": (lambda r: [head(2**32 - 1, 0)], "protocol"),
    "empty header": (lambda r: [head(0, 0)], "protocol"),
    "no message": (lambda r: [head(2, 0) + b"[]"], "protocol"),
    "not JSON": (lambda r: [head(2, 0) + b"{]"], "protocol"),
    "not UTF-8": (lambda r: [head(4, 0) + b'["\xff"'], "protocol"),
    "deep": (lambda r: [head(2**17, 0) + b"[" * 2**17], "protocol"),
    "pickle": (lambda r: [head(20, 0) + b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.   "], "protocol"),
    "two replies": (lambda r: [spoken({"value": 1}, r) * 2], "protocol"),
    "a reply and a byte": (lambda r: [spoken({"value": 1}, r) + b"N"], "protocol"),
    "no nonce": (lambda r: [wire.pack({"value": 1})], "protocol"),
    "another nonce": (lambda r: [wire.pack({"value": 1, "nonce": "0" * 32})], "protocol"),
    "nonce of another kind": (lambda r: [wire.pack({"value": 1, "nonce": torch.ones(2)})], "protocol"),
    "nonce in a list": (lambda r: [wire.pack({"value": 1, "nonce": [r["nonce"]]})], "protocol"),
    "requires_grad": (lambda r: [spoken({"value": torch.ones(2, requires_grad=True)}, r)], "protocol"),
    "strides": (lambda r: [spoken({"value": torch.ones(2).expand(2, 2)}, r)], "protocol"),
    "complex": (lambda r: [spoken({"value": torch.ones(2, dtype=torch.complex64)}, r)], "protocol"),
    "sparse": (lambda r: [spoken({"value": torch.eye(2).to_sparse()}, r)], "protocol"),
}


@pytest.mark.parametrize("name", RAW)
def test_no_bytes_raise_anything_but_a_lost_worker(name: str) -> None:
    """Silence and a drip end at the deadline; whatever is no reply is refused at once."""
    make, kind = RAW[name]
    handle = RemoteHandle(answering(make), "", FILE, Limits(call_s=0.4 if kind == "timeout" else 60.0))
    start = time.monotonic()

    with pytest.raises(WorkerLost) as caught:
        handle.f()

    assert caught.value.evidence.kind == kind
    assert time.monotonic() - start < 30.0  # not 60: refused, or the one deadline for the whole reply
    handle.close()


@pytest.mark.parametrize("closes", ["before", "within"])
def test_a_worker_that_hangs_up_is_a_crash(closes: str) -> None:
    """Also in the middle of a reply."""

    def make(request: dict[str, Any]) -> Iterator[bytes]:
        if closes == "within":
            yield spoken({"value": 1}, request)[:-4]
        raise Closed

    handle = RemoteHandle(answering(make), "", FILE, GENEROUS)

    with pytest.raises(WorkerLost, match="ended the whole process") as caught:
        handle.f()

    assert caught.value.evidence.kind == "crash"


FAULT = {"builtins": ["ValueError", "Exception"], "text": "t", "line": 3, "name": "ValueError"}
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    0.5,
    float("nan"),
    "",
    "x",
    torch.ones(2),
    torch.int8,
    [],
    (),
    {},
    [[]],
    {"a": 1},
]
REPLIES: list[dict[str, Any]] = [
    {},
    {"unknown": 1},
    {"raised": FAULT, "missing": "f"},
    *({key: value} for key in ("raised", "missing", "unsendable", "lines", "faults") for value in ODD),
    *({"raised": FAULT | {key: value}} for key in FAULT for value in ODD),
    *({"raised": FAULT | {"builtins": [value, "ValueError"]}} for value in ODD),
    *({"raised": FAULT | {"builtins": ["NotImplementedError"], "line": value}} for value in ODD),
    {"raised": {"builtins": ["E" * 100_000], "text": "t" * 50_000, "line": 1, "name": "N" * 50_000}},
    {"unsendable": "u" * 200_000},
]
REQUESTS: dict[str, Callable[[Handle], Any]] = {
    "call": lambda s: s.f(),
    "vjp": lambda s: s.f.vjp(X),
    "vjp of two": lambda s: s.f.vjp(X, X, wrt=(0, 1)),
    "hvp": lambda s: s.f.hvp(X),
    "with_inputs": lambda s: s.f.with_inputs(X),
    "raises": lambda s: s.f.raises(ValueError),
    "play": lambda s: s.play("p"),
}


def kept(evidence: Evidence) -> Evidence:
    """As a run on disk gives it back."""
    return msgspec.json.decode(msgspec.json.encode(evidence), type=Evidence)


def asked(
    ask: Callable[[Handle], Any],
    reply: dict[str, Any],
    faults: Any = (),
    forbidden: Mapping[str, Sequence[str]] = NOTHING,
) -> Any:
    """The value that ``ask`` comes to when it is answered with ``reply``; CheckFailure otherwise."""

    def script(request: dict[str, Any]) -> Iterator[bytes]:
        match request["op"]:
            case "open":
                yield spoken({"lines": torch.ones(1, dtype=torch.int32)}, request)
            case "execute":
                yield spoken({"faults": faults}, request)
            case _:
                yield spoken(reply, request)

    handle = RemoteHandle(_FakeZygote(script), "", FILE, GENEROUS, "", forbidden)
    handle.begin("f/check", "f")
    try:
        return ask(handle)
    finally:
        handle.close()


@pytest.mark.parametrize("ask", REQUESTS.values(), ids=REQUESTS)
def test_no_reply_raises_anything_but_a_failure_that_can_be_kept(ask: Callable[[Handle], Any]) -> None:
    """A reply without a value is a CheckFailure whose evidence goes to JSON and back, and is not longer than a page."""
    for reply in REPLIES:
        try:
            assert asked(ask, reply) is None, reply  # raises() passes, where a ValueError was told
            assert ask is REQUESTS["raises"]
        except CheckFailure as failure:
            evidence = failure.evidence
            assert kept(evidence) == evidence, reply
            assert len(evidence.message) < 300
            assert len(evidence.detail) <= 4000
            assert evidence.line is None or 0 < evidence.line < 2**31


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_gradients_of_odd_kinds_are_failures(value: Any) -> None:
    """What a check unpacks has the right length: gradients are tensors or None, arguments as many as were sent."""
    for reply in (value, (value,), (X, value), (X, (value,)), (X, (X, value)), (X, X, value), (value, X), [X, (X,)]):
        for wrt in ((0,), (0, 1)):
            with contextlib.suppress(CheckFailure):
                _, grads = asked(lambda s, wrt=wrt: s.f.vjp(X, X, wrt=wrt), {"value": reply})  # type: ignore[misc]
                assert type(grads) is tuple and len(grads) == len(wrt)
                assert all(grad is None or type(grad) is torch.Tensor for grad in grads)
        with contextlib.suppress(CheckFailure):
            grad, product = asked(lambda s: s.f.hvp(X), {"value": reply})
            assert all(part is None or type(part) is torch.Tensor for part in (grad, product))
        with contextlib.suppress(CheckFailure):
            _, after = asked(lambda s: s.f.with_inputs(X, X), {"value": reply})
            assert type(after) is tuple and len(after) == 2


@pytest.mark.parametrize(
    "told", [*ODD, ["logsumexp"], [["softmax"]], {"softmax": 1}, "softmax", ("softmax",)], ids=repr
)
def test_a_lie_about_forbidden_calls_is_nonsense(told: Any) -> None:
    """A worker that says it saw something odd, or what this exercise may use, is asked for nothing but its value."""
    for rules in (NOTHING, {"f": ["softmax"]}, {"g": ["softmax", "logsumexp"]}):
        assert asked(lambda s: s.f(), {"value": 1, "forbidden": told}, (), rules) == 1
        with pytest.raises(CheckFailure) as caught:
            asked(lambda s: s.f(), {"missing": "f", "forbidden": told}, (), rules)
        assert caught.value.kind == "missing"


@pytest.mark.parametrize("seen", [["softmax"], [None, 3, torch.ones(2), "softmax"], ["softmax", "x" * 10_000]])
def test_what_was_seen_is_told_in_our_words(seen: list[Any]) -> None:
    """Only the names that the assignment lists are told, never another word of the worker."""
    with pytest.raises(CheckFailure) as caught:
        asked(lambda s: s.f(), {"value": 1, "forbidden": seen}, (), {"f": ["logsumexp", "softmax"]})

    assert caught.value.kind == "forbidden"
    assert caught.value.evidence.message == (
        "`f` uses the library's `softmax`, somewhere below the functions it calls; this exercise is to do without it"
    )
    assert asked(lambda s: s.f(), {"value": 1, "forbidden": seen}) == 1


@pytest.mark.parametrize(
    "faults", [*ODD, [{"line": 1}], [{"line": 10**30}], [{"line": "x"}, {"line": 2, "name": 3}]], ids=repr
)
def test_faults_of_odd_kinds_change_nothing(faults: Any) -> None:
    """What a worker says went wrong when it loaded may be anything: values still arrive, and so do failures."""
    assert asked(lambda s: s.f(), {"value": 1}, faults) == 1
    with pytest.raises(CheckFailure, match="defines no function `f`") as caught:
        asked(lambda s: s.f(), {"missing": "f"}, faults)
    assert kept(caught.value.evidence) == caught.value.evidence


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([torch.int8, torch.ones(2), torch.empty(0, 3, dtype=torch.float16), torch.tensor(True)])
    | st.sampled_from(["value", "raised", "missing", "builtins", "NotImplementedError", "ValueError", "text", "line"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["builtins", "text", "line", "name", "value", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)
replies = st.dictionaries(st.sampled_from(["value", "raised", "missing", "unsendable", "faults"]), values, max_size=2)


@settings(max_examples=150, deadline=None)
@given(reply=replies, ask=st.sampled_from(list(REQUESTS.values())), faults=values)
def test_whatever_a_worker_answers_is_a_value_or_a_failure(
    reply: dict[str, Any], ask: Callable[[Handle], Any], faults: Any
) -> None:
    """A check that compares the answer with the truth never breaks, whatever is answered to whatever it asks."""
    truth = torch.tensor([1.0, 2.0], dtype=torch.float64)
    try:
        got = asked(ask, reply, faults)
        with contextlib.suppress(CheckFailure):
            close(got, truth, dtype=torch.float32, limit=0.0, reason="exact")
        with contextlib.suppress(CheckFailure):
            same(got, {"x": [truth]})
    except CheckFailure as failure:
        assert kept(failure.evidence) == failure.evidence


def test_a_worker_lost_again_while_the_culprit_is_sought_is_a_failure() -> None:
    """One that does not even open any more makes the file unusable, with the reason, and raises nothing else."""

    def dies_executing(request: dict[str, Any]) -> Iterator[bytes]:
        if request["op"] != "open":
            raise Closed
        yield from loading(request)

    def dies_opening(request: dict[str, Any]) -> Iterator[bytes]:
        raise Closed

    handle = RemoteHandle(_FakeZygote(dies_executing, dies_opening), "", FILE, GENEROUS)

    for _ in range(2):
        with pytest.raises(CheckFailure, match="ended the whole process") as caught:
            handle.f()
        assert caught.value.evidence.kind == "load"
    handle.close()


def test_timeouts_are_counted_for_each_exercise(zygote: Zygote) -> None:
    """After `timeouts` of them an exercise's calls get `late_call_s`; other exercises keep the whole time."""
    limits = Limits(call_s=0.4, timeouts=2, late_call_s=0.2)
    handle = RemoteHandle(answering(lambda request: []), "", FILE, limits)
    told = []
    for exercise in ("a", "a", "b", "a", "b", "b", "a"):
        handle.begin(f"{exercise}/check", exercise)
        start = time.monotonic()
        with pytest.raises(WorkerLost) as caught:
            handle.f()
        limit = float(caught.value.evidence.message.split()[-2])
        assert time.monotonic() - start >= limit
        told.append((exercise, limit))

    assert told == [("a", 0.4), ("a", 0.4), ("b", 0.4), ("a", 0.2), ("b", 0.4), ("b", 0.2), ("a", 0.2)]


def test_other_failures_are_not_counted_as_timeouts() -> None:
    """Only the clock shortens the time of later calls."""
    limits = Limits(call_s=60.0, timeouts=1, late_call_s=0.2)

    def slow_but_honest(request: dict[str, Any]) -> Iterator[bytes]:
        if request["name"] == "broken":
            yield bytes(64)
        time.sleep(0.5)  # longer than late_call_s
        yield spoken({"value": 1}, request)

    handle = RemoteHandle(answering(slow_but_honest), "", FILE, limits)
    handle.begin("a/check", "a")
    for _ in range(2):
        with pytest.raises(WorkerLost):
            handle.broken()

    assert handle.f() == 1
    handle.close()
