"""The untrusted side of the wire answers every request it is sent, in order, until the other side hangs up."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from grader.channel import Channel
from grader.worker import serve

SOURCE = """\
import torch
1 / 0

def f(x):
    return x + 1

def odd(x):
    return object()

def unnamed(x):
    return Unnamed()

class Unnamed:
    __module__ = "\\ud800"

def raises(x):
    raise KeyError("why")
"""

Ask = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Ask a worker that lives in a thread of this process; its reply, within a minute."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()
    channel = Channel(ours, trusted=True)

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        channel.send(request, 60.0)
        ours.settimeout(60.0)
        while (reply := channel._complete()) is None:
            channel._more()
        return reply

    yield ask
    ours.close()
    thread.join(60.0)
    assert not thread.is_alive()  # hanging up ends it
    theirs.close()


def call(name: str, *args: object) -> dict[str, Any]:
    """A request for a call."""
    return {"op": "call", "name": name, "args": args, "kwargs": {}, "nonce": name}


def opened(source: str = SOURCE, file: str = "student.py") -> dict[str, Any]:
    """The request that opens a file."""
    data = torch.tensor(list(source.encode()), dtype=torch.uint8)
    return {"op": "open", "source": data, "file": file, "nonce": "open"}


def executed(*indices: int) -> dict[str, Any]:
    """The request that executes statements."""
    return {"op": "execute", "indices": torch.tensor(indices, dtype=torch.int32), "nonce": "execute"}


def test_open_execute_call(ask: Ask) -> None:
    """Opening tells the lines of the statements, executing what raised, a call its value; each with its nonce."""
    told = ask(opened())
    assert told["nonce"] == "open"
    assert told["lines"].tolist() == [1, 2, 4, 7, 10, 13, 16]
    told = ask(executed(0, 1, 2))
    assert told["nonce"] == "execute"
    assert [(fault["line"], fault["name"]) for fault in told["faults"]] == [(2, "ZeroDivisionError")]
    reply = ask(call("f", torch.ones(2)))
    assert reply["nonce"] == "f"
    assert reply["value"].tolist() == [2.0, 2.0]


def test_only_what_was_executed_is_there(ask: Ask) -> None:
    """Opening executes nothing, and each execute only what it names."""
    ask(opened())
    assert ask(call("f", 1)) == {"missing": "f", "nonce": "f"}
    ask(executed(2))
    assert ask(call("f", 1)) == {"value": 2, "nonce": "f"}
    assert ask(call("raises", 1)) == {"missing": "raises", "nonce": "raises"}


def test_what_cannot_be_sent_is_told(ask: Ask) -> None:
    """A value that is no plain data is answered with the reason, whatever its type is called; the worker goes on."""
    ask(opened())
    ask(executed(0, 2, 3, 4, 5))
    assert ask(call("odd", 1)) == {
        "unsendable": "a value of type builtins.object cannot cross the wire",
        "nonce": "odd",
    }
    assert ask(call("unnamed", 1))["unsendable"].startswith("a value")
    assert ask(call("f", 1)) == {"value": 2, "nonce": "f"}


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\n  y = 2\n", "\0", "(" * 1000, "-" * 100_000 + "1"])
def test_a_file_that_cannot_be_parsed_is_a_fault(ask: Ask, source: str) -> None:
    """Opening it tells why instead of raising, and another file can be opened after it."""
    reply = ask(opened(source))

    assert set(reply) == {"fault", "nonce"}
    assert isinstance(reply["fault"]["text"], str)
    assert ask(call("f", 1)) == {"fault": "no submission was opened", "nonce": "f"}
    assert "lines" in ask(opened())


def test_nothing_is_served_before_open(ask: Ask) -> None:
    """Executing and calling without a file is answered, and does not end the worker."""
    assert ask(executed(0)) == {"fault": "no submission was opened", "nonce": "execute"}
    assert ask(call("f")) == {"fault": "no submission was opened", "nonce": "f"}


def test_opening_again_forgets_the_file_before(ask: Ask) -> None:
    """The second file is alone in its namespace."""
    ask(opened())
    ask(executed(0, 2))
    ask(opened("def g(x):\n    return 2 * x\n", "other.py"))
    ask(executed(0))
    assert ask(call("g", 4)) == {"value": 8, "nonce": "g"}
    assert ask(call("f", 4)) == {"missing": "f", "nonce": "f"}


def test_a_closed_standard_output_costs_nothing(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a submission puts in the place of sys.stdout is flushed if it can be, and that is all."""
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back afterwards: this worker is a thread
    ask(opened("import sys\nclass Out:\n    flush = None\nsys.stdout = Out()\ndef f():\n    return 1\n"))
    ask(executed(0, 1, 2, 3))
    assert ask(call("f")) == {"value": 1, "nonce": "f"}
