"""The trusted side's hold on the untrusted one: a zygote that a tier of isolation hosts, and the workers it forks."""

from __future__ import annotations

import array
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

import grader
from grader import bubblewrap, orphans, seccomp
from grader.confinement import SCRATCH, Confinement, Ready, Reply, spaces
from grader.errors import EnvironmentRefused, GraderError
from grader.model import Isolation, Limits
from grader.tiers import ACCEPT, layers_of, why_no_namespaces

__all__ = ["Exit", "WorkerProcess", "Zygote"]

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
# All of this package that the untrusted side can see in a sandbox: what a worker consists of.
MODULES = (
    "__init__", "canary", "channel", "confinement", "errors", "guard", "landlock", "libc", "model", "orphans",
    "seccomp", "student", "wire", "worker", "zygote",
)  # fmt: skip
PACKAGE = Path(grader.__file__).parent
INSIDE = Path("/opt/grader")  # where a sandbox shows them
# A range for users made on the fly, which no distribution gives to anybody: systemd's, see its UIDS-GIDS page.
UIDS = range(61184, 65520)


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
            status = self.zygote.request({"op": "kill"}).status
        except GraderError:  # in the process tier a submission can kill the zygote, and its workers die with it
            self.zygote.gone = True  # the next fork starts another one
            status = signal.SIGKILL
        finally:
            self.sock.close()
            os.close(self.output)
        return Exit(status)


class Zygote:
    """A clean process with torch imported that forks one worker at a time, in isolation. Use as a context manager."""

    def __init__(self, limits: Limits, tier: str, hidden: Iterable[Path] = ()) -> None:
        """Start it in ``tier``, and prove every layer by a canary.

        ``hidden``: folders that no worker may read, wherever they lie. Raises EnvironmentRefused when a layer cannot be
        had or does not hold, GraderError when the zygote does not come up for another reason.
        """
        self.tier = tier
        self.hidden = tuple(path.resolve() for path in hidden)
        layers = layers_of(tier)
        sandboxed = "seccomp" in layers
        self._asked = Confinement(
            layers=tuple(layer for layer in layers if layer not in ("namespaces", "deadlines")),
            limits=limits,
            readable=bubblewrap.readable() if sandboxed else (),
            hidden=tuple(map(str, (*self.hidden, PACKAGE))),
            uid=UIDS[os.getpid() % len(UIDS)] if "user" in layers else 0,
            seccomp=seccomp.compile_filter() if sandboxed else b"",
        )
        self._start()
        self._prove()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        self._words = os.memfd_create("zygote")  # what it, or bubblewrap, has to say when it cannot start
        asked = msgspec.json.encode(self._asked).decode()
        program = [sys.executable, "-P", "-s", "-m", "grader.zygote", str(theirs.fileno()), asked]
        environment = dict(ENVIRONMENT)
        if self.tier == "namespace":
            shown = [(PACKAGE / f"{name}.py", INSIDE / "grader" / f"{name}.py") for name in MODULES]
            program = bubblewrap.command(program, shown, (*self.hidden, PACKAGE))
            environment |= {"HOME": str(SCRATCH), "TMPDIR": str(SCRATCH), "PYTHONPATH": str(INSIDE)}
        with contextlib.ExitStack() as undo, theirs:
            undo.callback(ours.close)
            undo.callback(os.close, self._words)
            self.process = subprocess.Popen(
                program,
                env=environment,
                cwd="/",
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stderr=self._words,
            )
            undo.pop_all()
        ours.settimeout(START_TIMEOUT_S)
        try:
            self._accept(msgspec.json.decode(self._reply(), type=Ready))
        except GraderError:
            self.process.kill()
            self.close()
            raise
        ours.settimeout(REPLY_TIMEOUT_S)
        self.gone = False

    def _accept(self, ready: Ready) -> None:
        """Whether it came up as it was asked to. Raises GraderError or EnvironmentRefused."""
        if ready.failed:
            raise EnvironmentRefused(f"isolation `{self.tier}` cannot be had here: {ready.failed}. {ACCEPT}")
        if ready.threads != 1:
            raise GraderError(f"the zygote has {ready.threads} threads; a fork would copy only one of them")
        if self.tier == "namespace":
            own = spaces()
            shared = [name for name in ("ipc", "mnt", "net", "pid", "uts") if ready.spaces.get(name) == own[name]]
            if shared:
                raise EnvironmentRefused(
                    f"the layer `namespaces` is not there: {', '.join(shared)} is shared. {ACCEPT}"
                )
        self._abi = ready.landlock_abi if "landlock" in self._asked.layers else 0

    @property
    def isolation(self) -> Isolation:
        """The layers in force, each of them proved."""
        return Isolation(self.tier, layers_of(self.tier), self._abi)

    def _prove(self) -> None:
        """Let a canary try what the layers have to stop. Raises EnvironmentRefused."""
        outside = str(PACKAGE / "isolation.py")  # which no worker needs
        found = self.request({"op": "canary", "layers": layers_of(self.tier), "outside": outside})
        if found.failed or found.holes:
            self.close()
        if found.failed:
            raise EnvironmentRefused(f"isolation `{self.tier}` cannot be had here: {found.failed}. {ACCEPT}")
        if found.holes:
            raise EnvironmentRefused(
                f"isolation `{self.tier}` does not hold here: a worker could {', '.join(found.holes)}."
                f" Nothing was graded. {ACCEPT}"
            )

    def fork(self) -> WorkerProcess:
        """A new worker. The one before must have ended."""
        try:
            if self.gone:
                self.restart()
            return self._fork()
        except EnvironmentRefused:
            raise
        except GraderError:  # in the process tier, what an earlier submission left behind can have killed the zygote
            self.restart()
            return self._fork()

    def _fork(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        try:
            reply = self.request({"op": "fork"}, theirs.fileno(), writer)
            if missing := sorted(set(self._asked.layers) - set(reply.layers)):
                raise EnvironmentRefused(f"a worker came up without {', '.join(missing)}: {reply.failed}")
        except GraderError:
            ours.close()
            os.close(reader)
            raise
        finally:
            theirs.close()
            os.close(writer)
        return WorkerProcess(self, ours, reader)

    def request(self, message: dict[str, object], *fds: int) -> Reply:
        """One exchange on the control socket. Nothing that comes back was written by a student's code."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        with contextlib.suppress(OSError):  # the reply that then does not come is the error
            self.control.sendmsg([msgspec.json.encode(message)], rights)
        return msgspec.json.decode(self._reply(), type=Reply)

    def _reply(self) -> bytes:
        try:
            data = self.control.recv(1 << 16)
        except OSError:  # a timeout is one, too
            data = b""
        if not data:
            raise self._gone()
        return data

    def _gone(self) -> GraderError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        status = self.process.poll()
        words = os.pread(self._words, 1 << 16, 0).decode("utf-8", "replace").strip() if self._words >= 0 else ""
        if self.tier == "namespace" and words.startswith("bwrap:"):
            return EnvironmentRefused(
                f"isolation `namespace` cannot be had here: {words.splitlines()[-1]} — {why_no_namespaces()}. {ACCEPT}"
            )
        told = f": {words}" if words else ""
        return GraderError(f"the zygote, which forks the workers, is gone (status {status}){told}")

    def restart(self) -> None:
        """A new zygote in the place of one that is gone, or does not answer."""
        self.process.kill()
        self.close()
        self.gone = True  # until another one is up, for a start can fail
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
        if self._words >= 0:
            os.close(self._words)
            self._words = -1
        orphans.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
