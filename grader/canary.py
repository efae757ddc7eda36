"""A canary: what a submission would try, tried by us in a worker, before any submission is let in.

Each attempt belongs to the layer that has to stop it. Whatever succeeds is a hole, and nothing is graded. Nothing here
does harm when it succeeds.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from grader import libc

if sys.platform != "win32":
    import resource

__all__ = ["attempts", "holes"]

MIB = 2**20
# System calls without a name in Python; 64-bit x86 and arm.
ARM = platform.machine() == "aarch64"
PTRACE, UNSHARE, KEYCTL, MEMFD_CREATE = (117, 97, 219, 279) if ARM else (101, 272, 250, 319)
IO_URING_SETUP, FSOPEN = 425, 430  # the same everywhere
PTRACE_SEIZE = 0x4206  # unlike PTRACE_ATTACH, it does not stop who is traced
CLONE_NEWUSER = 0x10000000


def _write_library() -> None:
    with open(os.__file__, "r+b"):
        pass


def _write_root() -> None:
    path = Path("/canary")
    path.mkdir()
    path.rmdir()


def _syscall(number: int, *arguments: object) -> None:
    libc.call(f"system call {number}", "syscall", number, *arguments)


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _exec() -> None:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(pid, 0)


def _socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _kill() -> None:
    os.kill(os.getppid(), 0)


def _ptrace() -> None:
    _syscall(PTRACE, PTRACE_SEIZE, os.getppid(), 0, 0)


def _unshare() -> None:
    _syscall(UNSHARE, CLONE_NEWUSER)


def _mount() -> None:
    _syscall(FSOPEN, b"tmpfs", 0)  # half a mount, which needs the same rights and leaves nothing behind


def _keys() -> None:
    _syscall(KEYCTL, 0, -3, 1)  # which keyring the session has


def _ring() -> None:
    _syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(120))


def _memory_file() -> None:
    _syscall(MEMFD_CREATE, b"canary", 0)


def _memory() -> None:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    mmap.mmap(-1, most if most > 0 else 1 << 40).close()


def _set_limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # as it is already, for raising one needs a right of its own


def _core_dumps() -> None:
    if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0):
        raise PermissionError


def _become_root() -> None:
    if os.geteuid() != 0:
        os.setresuid(0, 0, 0)


def _large_scratch() -> None:
    there = os.statvfs(".")
    if there.f_blocks * there.f_frsize <= 4 * MIB and 0 < there.f_files <= 256:
        raise PermissionError


def attempts(outside: Path) -> dict[str, tuple[str, Callable[[], object]]]:
    """What is tried → the layer that has to stop it, and the attempt, which was stopped if it raises."""
    return {
        "see the grader's files": ("namespaces", outside.stat),
        "read the grader's files": ("landlock", outside.read_bytes),
        "read /proc": ("landlock", Path("/proc/self/status").read_bytes),
        "write to a library": ("landlock", _write_library),
        "make a folder in /": ("landlock", _write_root),
        "fork": ("seccomp", _fork),
        "execute a program": ("seccomp", _exec),
        "open a network socket": ("seccomp", _socket),
        "send a signal": ("seccomp", _kill),
        "trace a process": ("seccomp", _ptrace),
        "mount": ("seccomp", _mount),
        "use the kernel's keys": ("seccomp", _keys),
        "use io_uring": ("seccomp", _ring),
        "make a file in memory": ("seccomp", _memory_file),
        "set its own limits": ("seccomp", _set_limits),
        "take all memory": ("rlimits", _memory),
        "dump core": ("rlimits", _core_dumps),
        "be root": ("user", _become_root),
        "fill a disk": ("scratch", _large_scratch),
        "make a user namespace": ("seccomp", _unshare),  # the last one: in it, the others would mean something else
    }


def holes(layers: Iterable[str], outside: Path) -> list[str]:
    """What succeeded although one of ``layers`` has to stop it; ``outside``: a file of the trusted side."""
    layers = set(layers)
    found = []
    for name, (layer, attempt) in attempts(outside).items():
        if layer in layers:
            try:
                attempt()
            except (OSError, ValueError, MemoryError):
                continue
            found.append(name)
    return found
