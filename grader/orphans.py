"""Processes that have lost their parent: who adopts them, and how they end.

A zygote adopts what its workers leave behind; a slot and `grade`, what is left when a submission has killed it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection

from grader import libc

__all__ = ["adopt", "die_with_parent", "end", "prctl"]

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument. Raises OSError."""
    libc.call(f"prctl({option})", "prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def die_with_parent() -> None:
    """Whoever calls this is killed when the thread that started it ends. A change of user takes it back."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


_adopting = False


def adopt() -> None:
    """From now on orphans below this process become its children. For one that waits for its own children itself."""
    global _adopting  # noqa: PLW0603 - a property of the process, like the flag in the kernel
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _adopting = True


def end(keep: Collection[int] = ()) -> None:
    """Kill and reap every child of this process but ``keep``, and what they leave; nothing before :func:`adopt`."""
    while _adopting:
        orphans = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/self/task/{task}/children", "rb") as file:
                orphans += [pid for pid in map(int, file.read().split()) if pid not in keep]
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
