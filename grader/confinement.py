"""What the untrusted side puts on itself: the zygote once, before the first fork; each worker before student code.

The order matters, for each layer takes away what the one before needed. Zygote: scratch directory, user, capabilities.
Worker: limits, Landlock, descriptors, seccomp, after which nothing of this could be done any more. Whoever asks for a
layer gets it or an error; nothing is skipped.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from pathlib import Path

import msgspec

from grader import landlock, libc, orphans, seccomp
from grader.model import LOADS, Limits

if sys.platform != "win32":
    import resource

__all__ = ["SCRATCH", "Confined", "Confinement", "Ready", "Reply", "spaces"]

SCRATCH = Path("/scratch")
SCRATCH_MB = 4
SCRATCH_FILES = 256
MEMORY_OF_FILES = SCRATCH_MB * 2**20
THREADS = 64  # of a worker; torch is told to use one
DESCRIPTORS = 64
CLONE_NEWNS = 0x20000  # linux/sched.h
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8  # linux/mount.h
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 23, 24, 47
CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION = 0x20080522  # linux/capability.h, version 3
SPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class Confinement(msgspec.Struct, frozen=True):
    """What is asked of the untrusted side. Travels to the zygote as JSON."""

    layers: tuple[str, ...]
    limits: Limits
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # of what lies beneath `readable`
    uid: int = 0  # whom to become; 0: nobody else
    seccomp: bytes = b""  # the compiled filter


class Ready(msgspec.Struct, frozen=True):
    """What a zygote says of itself, before it has seen anything of a student."""

    threads: int
    layers: tuple[str, ...]
    landlock_abi: int
    spaces: dict[str, str]  # namespace → its identity, to be compared with those of the trusted side
    failed: str = ""  # why a layer could not be put on


class Reply(msgspec.Struct, frozen=True):
    """What a zygote answers to a request: of a worker that it started, or has ended."""

    layers: tuple[str, ...] = ()  # in force in the new worker
    holes: tuple[str, ...] = ()  # what a canary found possible
    failed: str = ""  # why there is no worker
    status: int = 0  # how the worker ended, as wait(2) gives it


class Confined:
    """Puts the layers of one Confinement on: ``zygote()`` once, then ``worker()`` in each fork."""

    def __init__(self, asked: Confinement) -> None:
        self.asked = asked
        self.applied: list[str] = []
        self._rules = -1
        self._tasks = 0  # of our user, that can be seen: the limit counts them all, and others may run as we do

    def zygote(self) -> None:
        """Everything that is the same for all workers. Raises OSError."""
        layers = self.asked.layers
        uid = self.asked.uid or os.getuid()
        if "scratch" in layers:
            # A mount namespace of our own, for the one we are in may belong to another user namespace.
            libc.call("unshare", "unshare", CLONE_NEWNS)
            options = f"size={SCRATCH_MB}m,nr_inodes={SCRATCH_FILES},mode=700,uid={uid},gid={uid}"
            flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV | MS_NOEXEC)
            libc.call("mount", "mount", b"scratch", bytes(SCRATCH), b"tmpfs", flags, options.encode())
            self.applied.append("scratch")
        if "capabilities" in layers:
            self._drop_bounding()
        if "user" in layers:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            for path in self.asked.readable:
                if not os.access(path, os.R_OK | os.X_OK):
                    raise OSError(f"{path}, which holds Python or libraries, is closed to all users but root")
            self.applied.append("user")
        if "capabilities" in layers:
            header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
            empty = ctypes.create_string_buffer(24)
            libc.call("capset", "capset", ctypes.create_string_buffer(header, len(header)), empty)
            with open("/proc/self/status", "rb") as file:
                sets = [line for line in file if line.startswith(b"Cap") and not line.startswith(b"CapBnd")]
            if any(int(line.split()[1], 16) for line in sets):
                raise OSError(f"capabilities are left: {sets}")
            self.applied.append("capabilities")
        if "landlock" in layers:
            writable = [SCRATCH] if "scratch" in layers else []
            self._rules = landlock.ruleset(map(Path, self.asked.readable), writable, map(Path, self.asked.hidden))
        self._tasks = _tasks_of(os.getuid())

    def _drop_bounding(self) -> None:
        """What no program could get back; who has no right to that needs none, for no_new_privs says the same."""
        c = ctypes.CDLL(None)  # bare, for to ask for a capability that this kernel does not know is no error
        for number in range(64):
            if c.prctl(PR_CAPBSET_READ, ctypes.c_ulong(number), 0, 0, 0) == 1:
                with contextlib.suppress(PermissionError):
                    orphans.prctl(PR_CAPBSET_DROP, number)
        c.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)

    def worker(self, keep: tuple[int, ...]) -> tuple[str, ...]:
        """What each worker does first, with ``keep`` as its only descriptors beside 0 to 2; the layers now in force."""
        layers = self.asked.layers
        os.setsid()  # its own group, so that the zygote can end its children with it
        orphans.die_with_parent()
        applied = [*self.applied]
        for kind, limit in self._limits(sandboxed="seccomp" in layers):
            resource.setrlimit(kind, (limit, limit))
        applied.append("rlimits")
        if "scratch" in layers:
            os.chdir(SCRATCH)
        if "landlock" in layers:
            landlock.restrict(self._rules)
            applied.append("landlock")
        first = 3
        for fd in (*sorted(keep), 1 << 16):
            os.closerange(first, fd)
            first = fd + 1
        if "seccomp" in layers:
            seccomp.load(self.asked.seccomp)
            applied.append("seccomp")
        return tuple(applied)

    def clean(self) -> None:
        """Remove what a worker has left in its scratch folder, if it has one. Raises OSError."""
        if "scratch" in self.applied:
            top = os.open(SCRATCH, os.O_RDONLY | os.O_DIRECTORY)
            try:
                _empty(top)
            finally:
                os.close(top)

    def _limits(self, *, sandboxed: bool) -> list[tuple[int, int]]:
        limits = self.asked.limits
        with open("/proc/self/statm", "rb") as file:
            mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
        seconds = int(LOADS * limits.load_s + 16 * limits.exercise_s)  # more than the wall clock gives any assignment
        found = [
            (resource.RLIMIT_AS, mapped + limits.memory_mb * 2**20),
            (resource.RLIMIT_FSIZE, MEMORY_OF_FILES),
            (resource.RLIMIT_NOFILE, DESCRIPTORS),
            (resource.RLIMIT_CORE, 0),
        ]
        if sandboxed:
            found += [
                (resource.RLIMIT_NPROC, THREADS + self._tasks),
                (resource.RLIMIT_CPU, seconds),  # soft as hard: as a namespace's first process it would not see SIGXCPU
                (resource.RLIMIT_MEMLOCK, 0),
                (resource.RLIMIT_MSGQUEUE, 0),
            ]
        return found


def _tasks_of(uid: int) -> int:
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if Path(f"/proc/{name}").stat().st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


def spaces() -> dict[str, str]:
    """The namespaces of this process."""
    return {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in SPACES}


def _empty(folder: int) -> None:
    """Remove what is in it, however deep and whatever its mode."""
    for name in os.listdir(folder):
        try:
            os.unlink(name, dir_fd=folder)
        except IsADirectoryError:
            os.chmod(name, 0o700, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
            try:
                _empty(inner)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)
