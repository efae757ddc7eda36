"""Landlock: what a worker may open, whatever its user could open. No execution, no TCP, no signals to others.

Three system calls without wrappers in libc; numbers and bits from linux/landlock.h, which never change. The rules are
made once, in the zygote; each worker only puts itself under them.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from grader import libc

__all__ = ["abi", "restrict", "ruleset"]

CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, the same on every architecture
VERSION = 1  # a flag of CREATE
PATH_BENEATH = 1  # a kind of rule
WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG, TRUNCATE = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 14
OF_FILES = 1 | WRITE_FILE | READ_FILE | TRUNCATE  # the rights that a rule about a file may name
# What can be forbidden to files, by the first version of the interface that knows it.
FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: 1 << 15}
BIND_AND_CONNECT, ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3
PR_SET_NO_NEW_PRIVS = 38

READ = READ_FILE | READ_DIR
SCRATCH = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE


def _call(number: int, *arguments: object) -> int:
    return libc.call("landlock", "syscall", number, *arguments)


def abi() -> int:
    """The kernel's version of the interface; 0 where Landlock is missing or switched off."""
    try:
        return _call(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def split(paths: Iterable[Path], hidden: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """What may be read whole, and folders that may be listed only, so that nothing below ``hidden`` can be read.

    Rules only ever add rights: a folder that holds something hidden is replaced by its children. What is readable
    within something hidden, like an environment in the folder of a course, stays readable. The names of hidden files
    can still be listed, because the right to list a folder reaches down.
    """
    todo = list(paths)
    hidden = {one for one in hidden if any(one.is_relative_to(path) for path in todo)}
    whole, listed = [], []
    while todo:
        path = todo.pop()
        if path in hidden:
            continue
        if any(one.is_relative_to(path) for one in hidden):
            listed.append(path)
            todo += [child for child in path.iterdir() if not child.is_symlink()]
        else:
            whole.append(path)
    return whole, listed


def ruleset(readable: Iterable[Path], writable: Iterable[Path], hidden: Iterable[Path]) -> int:
    """A descriptor of rules for :func:`restrict`; paths are resolved. Raises OSError, also for a path that is missing.

    ``readable`` may be read; ``writable``, folders whose files may be made, changed and removed; everything else, and
    what is beneath ``hidden``, cannot be opened.
    """
    version = abi()
    files = sum(bits for first, bits in FILES.items() if version >= first)
    net, scope = BIND_AND_CONNECT if version >= 4 else 0, ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    attributes = struct.pack("=QQQ", files, net, scope)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = _call(CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    os.set_inheritable(rules, False)
    whole, listed = split([path.resolve() for path in readable], [path.resolve() for path in hidden])
    null = Path("/dev/null")
    for paths, rights in ((whole, READ), (listed, READ_DIR), (writable, SCRATCH), ((null,), READ_FILE | WRITE_FILE)):
        for path in paths:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = rights & files & (-1 if path.is_dir() else OF_FILES)
            try:
                _call(ADD, rules, PATH_BENEATH, struct.pack("=Qi", allowed, fd), ctypes.c_uint32(0))
            finally:
                os.close(fd)
    return rules


def restrict(rules: int) -> None:
    """From here on this thread, and all that it starts, is under ``rules``. Raises OSError."""
    libc.call("landlock", "prctl", PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0)
    _call(RESTRICT, rules, ctypes.c_uint32(0))
