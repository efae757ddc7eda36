"""A zygote comes up as it was asked to or not at all; a worker cannot use more than its limits."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import isolation
from grader.errors import GraderError
from grader.isolation import Exit, Zygote
from grader.model import Limits
from grader.remote import RemoteHandle, WorkerLost
from tests.places import alive, wait_until_gone

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exited with status 0"),
        (1 << 8, "exited with status 1"),
        (255 << 8, "exited with status 255"),
        (signal.SIGKILL, "was ended by SIGKILL"),
        (signal.SIGSEGV | 128, "was ended by SIGSEGV"),  # 128: with a core dump
        (40, "was ended by signal 40"),
    ],
)
def test_how_a_worker_ended_in_words(status: int, words: str) -> None:
    """Signals by name where they have one."""
    assert str(Exit(status)) == words


LIMITS = """\
import os, resource, torch

def limits():
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {name: list(resource.getrlimit(getattr(resource, name))) for name in names}

def mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")

def take(mib):
    return len(bytearray(mib * 2**20))

def write(path, size):
    with open(path, "wb") as file:
        return file.write(bytes(size))

def open_many():
    return len([os.open("/dev/null", os.O_RDONLY) for _ in range(100)])

def raise_them():
    resource.setrlimit(resource.RLIMIT_AS, (2**60, 2**60))
"""


@pytest.fixture
def limited(zygote: Zygote) -> Iterator[RemoteHandle]:
    """A worker of the shared zygote."""
    handle = RemoteHandle(zygote, LIMITS, "student.py", Limits(call_s=60.0))
    handle.begin("a/b", "a")
    yield handle
    handle.close()


def test_limits_are_set_in_the_worker(limited: RemoteHandle) -> None:
    """Soft and hard alike: address space beyond the start, file size, descriptors, core; nobody else's are touched."""
    ours = resource.getrlimit(resource.RLIMIT_NOFILE)
    mapped, limits = limited.mapped(), limited.limits()

    room = limits["RLIMIT_AS"][0] - 2048 * 2**20
    assert 0.9 < room / mapped <= 1.0  # what it had mapped when it started; a file was loaded since
    assert limits["RLIMIT_AS"][0] == limits["RLIMIT_AS"][1]
    assert limits["RLIMIT_FSIZE"] == [4 * 2**20, 4 * 2**20]
    assert limits["RLIMIT_NOFILE"] == [64, 64]
    assert limits["RLIMIT_CORE"] == [0, 0]
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == ours


def test_limits_hold(limited: RemoteHandle, tmp_path: Path) -> None:
    """What is asked for beyond them is an error in the submission, and what is below is given."""
    assert limited.take(1024) == 2**30
    limited.take.raises(MemoryError, 4096)
    assert limited.write(str(tmp_path / "small"), 4 * 2**20) == 4 * 2**20
    limited.write.raises(OSError, str(tmp_path / "large"), 5 * 2**20)
    assert (tmp_path / "large").stat().st_size <= 4 * 2**20
    limited.open_many.raises(OSError)


def test_file_descriptors_that_were_used_up_cost_later_calls_nothing(limited: RemoteHandle) -> None:
    """A worker without a free descriptor still answers."""
    limited.open_many.raises(OSError)
    assert limited.take(1) == 2**20


@pytest.mark.skipif(os.geteuid() == 0, reason="root may raise hard limits")
def test_a_submission_cannot_raise_its_limits(limited: RemoteHandle) -> None:
    """The hard limits are as low as the soft ones."""
    limited.raise_them.raises(ValueError)


READY = """os.write(fd, b'{"threads": 1, "layers": [], "landlock_abi": 0, "spaces": {}}')"""


def _impostor(folder: Path, body: str) -> str:
    """A program that is started in the place of Python; `fd` is the control socket's number."""
    path = folder / "python"
    script = folder / "impostor.py"
    script.write_text(f"import os, sys, socket, time\nfd = int(sys.argv[-2])\n{body}\n", encoding="utf-8")
    path.write_text(f'#!/bin/sh\nexec "{PYTHON}" "{script}" "$@"\n', encoding="utf-8")  # paths may hold spaces
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("sys.exit(7)", "the zygote, which forks the workers, is gone"),
        (
            READY.replace("1", "2") + "; time.sleep(60)",
            "the zygote has 2 threads; a fork would copy only one of them",
        ),
        ("time.sleep(60)", "the zygote, which forks the workers, is gone"),
    ],
)
def test_a_zygote_that_does_not_come_up_is_an_error_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, sentence: str
) -> None:
    """Whether it dies, hangs or has threads: a sentence, exit code 3, no process, no descriptor."""
    monkeypatch.setattr(sys, "executable", _impostor(tmp_path, body))
    monkeypatch.setattr(isolation, "START_TIMEOUT_S", 0.5 if body == "time.sleep(60)" else 60.0)
    started: list[int] = []

    class Noting(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Noting)
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(GraderError) as caught:
        Zygote(Limits(), "process")

    assert str(caught.value).startswith(sentence)
    assert caught.value.exit_code == 3
    assert not alive(started[0])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_zygote_that_is_gone_is_replaced_when_a_worker_is_asked_for(zygote: Zygote) -> None:
    """Killed while no worker was there (by a process that an earlier submission had left), it costs nobody a result."""
    zygote.process.kill()
    zygote.process.wait()
    before = len(os.listdir("/proc/self/fd"))

    worker = zygote.fork()

    assert str(worker.end()) == "was ended by SIGKILL"
    assert alive(zygote.process.pid)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_stopped_zygote_is_replaced(zygote: Zygote) -> None:
    """A submission that stops its parent loses its call; the zygote is given up soon, and the next one works."""
    assert zygote.control.gettimeout() == isolation.REPLY_TIMEOUT_S < 30.0  # each such call of a class waits for it
    zygote.control.settimeout(0.5)
    stopped = zygote.process.pid
    source = """\
import os, signal
def f(x):
    if x:
        os.kill(os.getppid(), signal.SIGSTOP)
        os._exit(1)
    return 1
"""
    handle = RemoteHandle(zygote, source, "student.py", Limits(call_s=60.0))
    with pytest.raises(WorkerLost):
        handle.f(1)

    assert handle.f(0) == 1
    handle.close()
    assert not alive(stopped)


GRADER = """\
import json, os, time
from grader.remote import RemoteHandle
from grader.isolation import Zygote
from grader.model import CheckFailure, Limits

source = '''
import os, subprocess, time
def pid():
    return os.getpid()
def take(mib):
    return len(bytearray(mib * 2**20))
def loop():
    while True: pass
'''
zygote = Zygote(Limits(memory_mb=64), "process")
handle = RemoteHandle(zygote, source, "student.py", Limits(call_s=600.0))
small = handle.take(8)
try:
    large = handle.take(128)
except CheckFailure as failure:
    large = failure.evidence.kind
handle.fresh()
print(json.dumps([small, large, zygote.process.pid, handle.pid()]), flush=True)
handle.loop()
"""


def test_zygote_and_worker_die_with_the_grader() -> None:
    """Killed without warning in the middle of a call, it leaves no process; a small memory limit held until then."""
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", GRADER], stdout=subprocess.PIPE) as grader:
        assert grader.stdout is not None
        small, large, zygote, worker = json.loads(grader.stdout.readline())
        assert (small, large) == (8 * 2**20, "memory")  # the limit counts from what torch had mapped
        assert alive(zygote)
        assert alive(worker)
        grader.kill()

    assert wait_until_gone([zygote, worker]) == []


def test_closing_ends_the_zygote_and_its_worker_and_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `with`, the process has been waited for; closing twice is closing once; one that hangs is killed."""
    body = f"{READY}; os.read(fd, 4096); os.write(fd, b'{{}}'); {{end}}"
    for end, status in (("os.read(fd, 1)", 0), ("os.kill(os.getpid(), 9)", -9), ("sys.exit(3)", 3)):
        monkeypatch.setattr(sys, "executable", _impostor(tmp_path, body.replace("{end}", end)))
        with Zygote(Limits(), "process") as one:
            assert one.process.args
        assert one.process.returncode == status
        one.close()
