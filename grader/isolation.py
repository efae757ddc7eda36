"""Where student code runs: tiers of isolation, the zygote that a tier hosts, the limits a worker puts on itself.

Tiers are never lowered silently: what a machine cannot give raises EnvironmentRefused. The `process` tier has
resource limits and deadlines only, so a submission can read and write what the grading user can.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from types import TracebackType
from typing import Self

from grader.errors import EnvironmentRefused, GraderError, UsageError
from grader.model import Isolation, Limits

if sys.platform != "win32":
    import resource

__all__ = ["TIERS", "Exit", "WorkerProcess", "Zygote", "adopt_strays", "confine", "end_strays", "require"]

TIERS = ("process",)
# `namespace` is the default already, so that no command line will change its meaning.
FUTURE_TIERS = ("namespace", "container")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
START_TIMEOUT_S = 120.0  # a cold `import torch` from a network file system has been seen to take a minute
REPLY_TIMEOUT_S = 20.0  # a fork or a kill takes 20 ms; a submission can stop its zygote
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",  # the order of a student's sets must not decide a check
}


def require(tier: str, *, accept_unsandboxed: bool) -> Isolation:
    """The layers of ``tier`` on this machine. Raises UsageError or EnvironmentRefused with the way round."""
    if tier not in (*TIERS, *FUTURE_TIERS):
        raise UsageError(f"unknown isolation `{tier}`; this version has: {', '.join(TIERS)}")
    if tier in FUTURE_TIERS:
        raise EnvironmentRefused(
            f"isolation `{tier}` is not in this version, and nothing weaker is taken in its place by itself."
            " What there is: `--isolation process --accept-unsandboxed`, limits of time and memory without a sandbox"
        )
    if not accept_unsandboxed:
        raise EnvironmentRefused(
            "isolation `process` has time and memory limits only: a submission can read and change whatever you can. "
            "Add `--accept-unsandboxed` if you trust these submissions or this machine is disposable"
        )
    if sys.platform != "linux":
        raise EnvironmentRefused(
            f"grading forks its workers, which needs Linux; this is {sys.platform}. Use a Linux machine or container"
        )
    return Isolation(tier=tier, applied=("rlimits", "deadlines"))


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


_adopting = False


def adopt_strays() -> None:
    """Called by a process that has no children but those of this module: orphans below it become its children.

    A zygote adopts what its workers leave behind; a slot and `grade`, what is left when a submission has killed it.
    """
    global _adopting  # noqa: PLW0603 - a property of the process, like the flag in the kernel
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _adopting = True


def end_strays(keep: Collection[int] = ()) -> None:
    """Kill and reap every child of this process but ``keep``, and what they leave; only after :func:`adopt_strays`."""
    while _adopting:
        strays = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/self/task/{task}/children", "rb") as file:
                strays += [pid for pid in map(int, file.read().split()) if pid not in keep]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def confine(limits: Limits) -> None:
    """Called by a fresh worker, before any student code, on itself."""
    os.setsid()  # its own group, so that the zygote can end its children with it
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with open("/proc/self/statm", "rb") as file:
        mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    for kind, limit in (
        (resource.RLIMIT_AS, mapped + limits.memory_mb * 2**20),
        (resource.RLIMIT_FSIZE, 4 * 2**20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (limit, limit))


class Exit:
    """How a worker ended: its wait status in words."""

    def __init__(self, status: int) -> None:
        self.status = status

    def __str__(self) -> str:
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(number).name}"
            return f"was ended by signal {number}"
        return f"exited with status {os.WEXITSTATUS(self.status)}"


class WorkerProcess:
    """A forked worker as the trusted side holds it: a socket for calls, a pipe with what it prints."""

    def __init__(self, zygote: Zygote, sock: socket.socket, output: int) -> None:
        self.zygote = zygote
        self.sock = sock
        self.output = output

    def end(self) -> Exit:
        """Kill it and everything it started; how it had ended if it was dead already."""
        try:
            status = self.zygote.request({"op": "kill"})["status"]
        except GraderError:  # in the process tier a submission can kill the zygote, and its workers die with it
            self.zygote.gone = True  # the next fork starts another one
            status = signal.SIGKILL
        finally:
            self.sock.close()
            os.close(self.output)
        return Exit(status)


class Zygote:
    """A clean process with torch imported that forks one worker at a time. Use as a context manager."""

    def __init__(self, limits: Limits) -> None:
        """Start it. Raises GraderError when it does not come up."""
        self._limits = limits
        self._start()

    def _start(self) -> None:
        limits = self._limits
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        with contextlib.ExitStack() as undo, theirs:
            undo.callback(ours.close)
            command = [sys.executable, "-P", "-s", "-m", "grader.zygote", str(theirs.fileno())]
            self.process = subprocess.Popen(
                [*command, json.dumps({name: getattr(limits, name) for name in limits.__struct_fields__})],
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
            )
            undo.pop_all()
        ours.settimeout(START_TIMEOUT_S)
        try:
            threads = self._reply().get("threads")
            if threads != 1:
                raise GraderError(f"the zygote has {threads} threads; a fork would copy only one of them")
        except GraderError:
            self.process.kill()
            self.close()
            raise
        ours.settimeout(REPLY_TIMEOUT_S)
        self.gone = False

    def fork(self) -> WorkerProcess:
        """A new worker. The one before must have ended."""
        try:
            if self.gone:
                self.restart()
            return self._fork()
        except GraderError:  # in the process tier, what an earlier submission left behind can have killed the zygote
            self.restart()
            return self._fork()

    def _fork(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        try:
            self.request({"op": "fork"}, theirs.fileno(), writer)
        except GraderError:
            ours.close()
            os.close(reader)
            raise
        finally:
            theirs.close()
            os.close(writer)
        return WorkerProcess(self, ours, reader)

    def request(self, message: dict[str, str], *fds: int) -> dict[str, int]:
        """One exchange on the control socket."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        with contextlib.suppress(OSError):  # the reply that then does not come is the error
            self.control.sendmsg([json.dumps(message).encode()], rights)
        return self._reply()

    def _reply(self) -> dict[str, int]:
        try:
            data = self.control.recv(4096)
        except OSError:  # a timeout is one, too
            data = b""
        if not data:
            status = self.process.poll()
            raise GraderError(f"the zygote, which forks the workers, is gone (status {status})")
        reply: dict[str, int] = json.loads(data)
        return reply

    def restart(self) -> None:
        """A new zygote in the place of one that is gone, or does not answer."""
        self.process.kill()
        self.close()
        self._start()

    def close(self) -> None:
        """End the zygote and its worker, and wait for it, so that their CPU time is accounted for."""
        self.control.close()
        deadline = time.monotonic() + 5.0
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        end_strays()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
