"""A worker that ends, hangs, floods, or talks out of turn costs one call, and the next one finds another worker."""

from __future__ import annotations

import contextlib
import gc
import os

import pytest

from grader.isolation import Zygote
from grader.model import CheckFailure, Limits
from grader.remote import WorkerLost
from tests.handles import remote

ENDINGS = {
    "import os; os._exit(3)": ("crash", "`f` ended the whole process (it exited with status 3)"),
    "import os; os.kill(os.getpid(), 9)": ("crash", "`f` ended the whole process (it was ended by SIGKILL)"),
    "import os; os.abort()": ("crash", "`f` ended the whole process (it was ended by SIGABRT)"),
    "import ctypes; ctypes.string_at(0)": ("crash", "`f` ended the whole process (it was ended by SIGSEGV)"),
    "import os; os.closerange(3, 64)": ("crash", "`f` ended the whole process (it "),
    "import threading; threading._shutdown = None; import os; os.close(1); os.close(2); os._exit(0)": (
        "crash",
        "`f` ended the whole process (it exited with status 0)",
    ),
    "return [bytearray(2**28) for _ in range(64)]": ("memory", "`f` raised MemoryError at line 6 of student.py"),
    "return torch.ones(2**32)": ("memory", "`f` raised RuntimeError at line 6 of student.py"),
    "while True: print('y' * 2**16)": ("output", "`f` printed more than 4 MiB"),
}


def test_a_lost_worker_costs_one_call(zygote: Zygote) -> None:
    """However a call ends its process, the failure says how, and the next call finds a new, clean worker."""
    limits = Limits(call_s=60.0, memory_mb=1024, output_kill_mb=4)
    for body, (kind, message) in ENDINGS.items():
        source = "import torch\ncalls = []\ndef f(x=1):\n    calls.append(x)\n    if x:\n"
        source += f"        {body}\n    return len(calls)\n"
        with remote(zygote, source, limits) as handle:
            assert handle.f(0) == 1
            with pytest.raises(CheckFailure) as caught:
                handle.f()

            assert caught.value.evidence.kind == kind
            assert caught.value.evidence.message.startswith(message)
            if kind != "memory":  # nothing was lost there
                assert isinstance(caught.value, WorkerLost)
                assert handle.f(0) == 1
                assert handle.workers == 2


def test_a_submission_that_spoils_its_standard_output_is_served(zygote: Zygote) -> None:
    """Whatever stands in the place of sys.stdout, the answers are right and what was printed before is kept."""
    for spoil in ("None", "open('/dev/null', 'w')", "object()", "(sys.stdout.close(), sys.stdout)[1]"):
        source = f"import sys\nprint('before')\nsys.stdout = {spoil}\ndef f(x):\n    return x + 1\n"
        with remote(zygote, source) as handle:
            assert [handle.f(1), handle.f(2)] == [2, 3]
            assert handle.workers == 1
        assert handle.output.text() == "before\n"


def test_what_was_printed_is_kept_across_workers(zygote: Zygote) -> None:
    """Both streams, also what is printed right before a crash and after the last answer, in order."""
    source = """\
import os, sys, threading
print("loaded")
def f(x):
    print("to stderr", x, file=sys.stderr)
    os.write(1, b"\\xff raw\\n")
    print("unfinished", x, end="")
    if x:
        print(flush=True)
        os._exit(1)
    return x
"""
    with remote(zygote, source) as handle:
        handle.f(0)
        with pytest.raises(WorkerLost):
            handle.f(1)
        handle.f(0)
    one = "to stderr 0\n\N{REPLACEMENT CHARACTER} raw\nunfinished 0"

    text = handle.output.text()

    assert text.startswith("loaded\n" + one)
    assert "to stderr 1\n" in text and "unfinished 1\n" in text
    assert text.endswith("loaded\n" + one)


def test_a_hung_statement_at_the_top_is_left_out(zygote: Zygote) -> None:
    """A loop at the top costs one time limit twice, then everything below it is there; the line is told."""
    source = "x = 1\nwhile True:\n    pass\ndef f():\n    return x\n"
    with remote(
        zygote, source, Limits(call_s=1.0, load_s=1.0)
    ) as handle:  # loading three short statements takes milliseconds
        assert handle.f() == 1

        assert handle.losses == [{"line": 2, "name": "timeout", "builtins": []}]


PROTOCOL = """\
import ctypes, gc, json, os, stat, struct, sys, threading, time

def sockets():
    return [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode)]

def frame(text):
    header = text.encode()
    return struct.pack("<4sIQ", b"NGR1", len(header), 0) + header

def nonce():
    step = sys._getframe()
    while "request" not in step.f_locals or "channel" not in step.f_locals:
        step = step.f_back
    return step.f_locals["request"]["nonce"]

def answer(value, stolen=None):
    return frame('[[],["d",["value",%s],["nonce","%s"]]]' % (value, stolen or nonce()))

def send(data):
    os.write(sockets()[0], data)

def honest(x):
    return x

def pre_sent():
    send(answer(42, "0" * 32))
    return 1

def twice():
    send(answer(42))
    return 1

def then_exit():
    send(answer(42))
    os._exit(0)

def then_lies():
    send(answer(42) + answer(42))
    os._exit(0)

def garbage():
    send(os.urandom(4096))
    time.sleep(60)

def long_length():
    send(struct.pack("<4sIQ", b"NGR1", 2, 2**60))
    time.sleep(60)

def bomb():
    send(frame("[" * 100_000))
    time.sleep(60)

def from_a_thread():
    fd, data = sockets()[0], answer(7)
    def write():
        while True:
            os.write(fd, data)
    threading.Thread(target=write, daemon=True).start()
    return 1

def eats_requests():
    fd = sockets()[0]
    threading.Thread(target=lambda: [os.read(fd, 1) for _ in range(10**9)], daemon=True).start()
    return 1

def leaves_a_child():
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)
"""


def test_a_worker_that_writes_to_its_own_socket_loses_the_call(zygote: Zygote) -> None:
    """Forged, doubled, replayed and garbled replies end in a lost check; the next submission's call is right."""
    limits = Limits(call_s=60.0)
    expected = {
        "pre_sent": ("protocol", "`pre_sent` answered in a way that is not allowed"),
        "then_lies": ("protocol", "`then_lies` answered in a way that is not allowed"),
        "garbage": ("protocol", "`garbage` answered in a way that is not allowed"),
        "long_length": ("protocol", "`long_length` answered in a way that is not allowed"),
        "bomb": ("protocol", "`bomb` answered in a way that is not allowed"),
    }
    with remote(zygote, PROTOCOL, limits) as handle:
        for name, told in expected.items():
            with pytest.raises(WorkerLost) as caught:
                getattr(handle, name)()
            assert (caught.value.evidence.kind, caught.value.evidence.message) == told
            assert handle.honest(3) == 3


def test_a_forged_reply_is_only_a_candidate_answer(zygote: Zygote) -> None:
    """With a stolen nonce a worker can answer what it likes, once; what is left in the socket answers no later call."""
    with remote(zygote, PROTOCOL) as handle:
        assert handle.then_exit() == 42
        with pytest.raises(WorkerLost):
            handle.honest(1)
        for name in ("twice", "from_a_thread"):
            with contextlib.suppress(WorkerLost):  # which of the replies come together is chance
                assert getattr(handle, name)() in (1, 7, 42)
            for _ in range(3):
                with contextlib.suppress(WorkerLost):
                    assert handle.honest(5) == 5


def test_requests_that_never_arrive_and_children_that_keep_the_socket_time_out(zygote: Zygote) -> None:
    """Nothing but the clock ends such a call, and a later one is right again."""
    limits = Limits(call_s=1.0)  # long enough to load a short file; waited for twice at most
    with remote(zygote, PROTOCOL, limits) as handle:
        with pytest.raises(WorkerLost) as caught:
            handle.leaves_a_child()
        assert caught.value.evidence.kind == "timeout"
        assert handle.eats_requests() == 1
        with contextlib.suppress(WorkerLost):  # who gets the next bytes first, the thread or the worker, is chance
            assert handle.honest(5) == 5
        handle.fresh()
        assert handle.honest(5) == 5


def test_a_submission_that_kills_the_zygote_costs_itself_one_call(zygote: Zygote) -> None:
    """The worker dies with its zygote; a new one is started for the next call, of this or another submission."""
    before = zygote.process.pid
    source = (
        "import os\ndef f(x):\n    if x:\n        os.kill(os.getppid(), 9)\n        while True: pass\n    return 1\n"
    )
    with remote(zygote, source) as handle:
        with pytest.raises(WorkerLost) as caught:
            handle.f(1)
        assert caught.value.evidence.message == "`f` ended the whole process (it was ended by SIGKILL)"
        assert handle.f(0) == 1

    assert zygote.process.pid != before
    with remote(zygote, PROTOCOL) as other:
        assert other.honest(2) == 2


def test_a_file_that_cannot_be_compiled_is_told_for_every_call(zygote: Zygote) -> None:
    """Such a file should not come this far; if it does, each call is a failure and no worker is asked twice."""
    with remote(zygote, "def f(:\n") as handle:
        for _ in range(2):
            with pytest.raises(CheckFailure, match=r"student\.py cannot be loaded: it cannot be compiled") as caught:
                handle.f()
            assert caught.value.evidence.kind == "load"
        assert handle.workers == 1


def test_served_and_last_call_say_what_the_worker_has_seen(zygote: Zygote) -> None:
    """`served` names the checks of the present worker, `last_call` the arguments of the check's last call."""
    seen: list[object] = []
    with remote(zygote, "def f(x, y=1):\n    return x\n") as handle:
        handle.begin("a/one", "a")
        seen += [handle.last_call, set(handle.served)]
        handle.f(3, y=2)
        seen.append(handle.last_call)
        handle.begin("a/two", "a")
        seen.append(handle.last_call)
        handle.f(4)
        assert [*seen, handle.last_call] == [None, set(), ("f", (3,), {"y": 2}), None, ("f", (4,), {})]
        assert handle.served == {"a/one", "a/two"}
        handle.fresh()
        assert handle.served == set()


def test_workers_leave_no_descriptors_behind(zygote: Zygote) -> None:
    """Lost or ended, a worker's socket and pipe are closed on our side."""
    source = "import os\ndef f(x):\n    os._exit(x) if x else None\n"
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with remote(zygote, source) as handle:
            handle.f(0)
            with pytest.raises(WorkerLost):
                handle.f(1)

    assert len(os.listdir("/proc/self/fd")) == before
