"""The zygote forks clean workers, ends them with all they started, and dies with those who started it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grader.isolation import MODULES, Zygote
from grader.model import Limits
from grader.remote import RemoteHandle, WorkerLost
from tests.places import alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

GENEROUS = Limits(call_s=60.0)

FACTS = """\
import gc, os, sys, threading, torch

def facts():
    return {
        "modules": sorted(sys.modules), "argv": sys.argv, "cwd": os.getcwd(), "environment": dict(os.environ),
        "fds": {fd: link(fd) for fd in range(256) if os.path.exists(f"/proc/self/fd/{fd}")},
        "threads": len(os.listdir("/proc/self/task")), "python_threads": threading.active_count(),
        "torch_threads": torch.get_num_threads(), "interop": torch.get_num_interop_threads(),
        "pid": os.getpid(), "session": os.getsid(0), "group": os.getpgid(0), "parent": os.getppid(),
        "stdin": sys.stdin.read(), "frozen": gc.get_freeze_count() > 0, "main": sys.modules["__main__"].__name__,
    }

def link(fd):
    return os.readlink(f"/proc/self/fd/{fd}").partition(":")[0]

def names():
    # Everything that any frame or any object knows by name: a secret here would be one of these.
    step, found = sys._getframe(), set()
    while step:
        found |= set(step.f_locals) | set(step.f_globals)
        step = step.f_back
    return sorted(found)
"""


@pytest.fixture(scope="module")
def facts(zygote: Zygote) -> dict[str, Any]:
    """What a worker sees of itself."""
    handle = RemoteHandle(zygote, FACTS, "student.py", GENEROUS)
    told: dict[str, Any] = handle.facts() | {"names": handle.names(), "zygote": zygote.process.pid}
    handle.close()
    return told


def test_a_worker_knows_nothing_of_checks_and_answers(facts: dict[str, Any]) -> None:
    """Of grader it holds what serving needs and no more; no pytest, and nothing that is called like a secret."""
    ours = {name for name in facts["modules"] if name.split(".")[0] == "grader"}

    shown = {f"grader.{name}" for name in MODULES if name not in ("__init__", "zygote")}  # the zygote is __main__
    assert ours == {"grader", *shown}
    assert not {name for name in facts["modules"] if name.split(".")[0] in ("pytest", "_pytest", "tests")}
    assert not [name for name in facts["names"] if "secret" in name or "expected" in name or "seed" in name]


def test_a_worker_has_only_its_own_descriptors(facts: dict[str, Any]) -> None:
    """Standard input is empty, both outputs are one pipe, and beside them there is its socket only."""
    fds = {int(fd): kind for fd, kind in facts["fds"].items()}

    assert {fd: kind for fd, kind in fds.items() if fd <= 2} == {0: "/dev/null", 1: "pipe", 2: "pipe"}
    assert [kind for fd, kind in fds.items() if fd > 2] == ["socket"]
    assert facts["stdin"] == ""


def test_a_worker_has_one_thread_and_its_own_group(facts: dict[str, Any]) -> None:
    """A fork copies one thread only, so no other may be there; torch starts none; a group of its own can be killed."""
    assert facts["threads"] == facts["python_threads"] == facts["torch_threads"] == facts["interop"] == 1
    assert facts["pid"] == facts["session"] == facts["group"]
    assert facts["parent"] == facts["zygote"]
    assert facts["frozen"]


def test_neither_arguments_nor_environment_nor_folder_say_anything(facts: dict[str, Any]) -> None:
    """The command line's rest is gone, the folder is the root, the environment holds what was put there."""
    assert len(facts["argv"]) == 1
    assert facts["cwd"] == "/"
    assert facts["environment"] == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


TREE = """\
import os, signal, time

def child(depth):
    if os.fork():
        return
    os.setsid()
    os.closerange(3, 64)
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    if depth:
        child(depth - 1)
    with open(PIDS, "a") as file:
        file.write(f"{os.getpid()}\\n")
    if depth % 2:
        os._exit(0)  # what it started is now an orphan
    while True:
        time.sleep(1)

def start(path, wide, deep):
    global PIDS
    PIDS = path
    for _ in range(wide):
        child(deep)
    return os.getpid()

def die(path, wide, deep):
    start(path, wide, deep)
    os._exit(5)
"""


@pytest.mark.parametrize("function", ["start", "die"])
def test_what_a_worker_started_ends_with_it(zygote: Zygote, tmp_path: Path, function: str) -> None:
    """Children, grandchildren and orphans in sessions of their own, deaf to all signals, are gone after `end`."""
    pids = tmp_path / "pids"
    handle = RemoteHandle(zygote, TREE, "student.py", GENEROUS)
    with contextlib.suppress(WorkerLost):
        getattr(handle, function)(str(pids), 3, 4)
    deadline = time.monotonic() + 60.0
    while function == "start" and len(pids.read_text(encoding="ascii").split()) < 15 and time.monotonic() < deadline:
        time.sleep(0.01)

    handle.close()

    started = [int(pid) for pid in pids.read_text(encoding="ascii").split()] if pids.exists() else []
    assert len(started) == 15 or function == "die"  # dying at once, it may have taken them along before they wrote
    assert [pid for pid in started if alive(pid)] == []
    assert Path(f"/proc/{zygote.process.pid}/task/{zygote.process.pid}/children").read_text(encoding="ascii") == ""


def test_many_workers_leave_nothing_in_the_zygote(zygote: Zygote) -> None:
    """After fifty forks it has the descriptors and the threads that it had before, and no zombie."""
    place = Path(f"/proc/{zygote.process.pid}")
    before = sorted(path.name for path in (place / "fd").iterdir())

    pids = {zygote.fork().end().status for _ in range(50)}

    assert pids == {signal.SIGKILL}
    assert sorted(path.name for path in (place / "fd").iterdir()) == before
    assert (place / "task" / place.name / "children").read_text(encoding="ascii") == ""
    assert len(list((place / "task").iterdir())) == 1


def test_a_worker_that_had_ended_tells_how(zygote: Zygote) -> None:
    """`end` gives the status of the worker's own end, not of the kill that came too late."""
    worker = zygote.fork()
    worker.sock.close()  # the trusted side hangs up, so the worker returns and exits
    deadline = time.monotonic() + 60.0
    children = Path(f"/proc/{zygote.process.pid}/task/{zygote.process.pid}/children")
    while any(alive(int(pid)) for pid in children.read_text(encoding="ascii").split()) and time.monotonic() < deadline:
        time.sleep(0.01)

    assert str(worker.end()) == "exited with status 0"


def test_ctrl_c_does_not_end_the_zygote(zygote: Zygote) -> None:
    """The signal goes to the whole group of the terminal; it is the grader that decides what ends."""
    pid = zygote.process.pid
    os.kill(pid, signal.SIGINT)

    zygote.fork().end()

    assert zygote.process.pid == pid
    assert alive(pid)
