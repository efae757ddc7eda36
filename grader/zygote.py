"""The zygote: a process that imports torch once and forks a worker per request. Run as ``python -m grader.zygote``.

It is started with a scrubbed environment, holds no check and no expected value, never runs student code and never
reads what a worker wrote once it has seen a submission: a fork of it has nothing to steal. Requests come as JSON
datagrams on the control socket; ``fork`` brings two descriptors (the worker's socket and its output pipe), ``kill``
ends the worker and everything it left behind, ``canary`` lets a worker try what its layers have to stop.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec
import torch

import grader
from grader import landlock, orphans, wire
from grader.canary import holes
from grader.confinement import Confined, Confinement, Ready, spaces
from grader.guard import Guard
from grader.worker import serve

__all__ = ["main"]

HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25  # linux/mman.h


def warm() -> None:
    """Pull in what torch imports lazily, or every worker would pay for it (torch.optim alone: 0.8 s)."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu")
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            logits = model(torch.ones(3, 4))
            loss = torch.nn.functional.cross_entropy(logits.float(), torch.zeros(3, dtype=torch.long))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    wire.unpack_frame(wire.pack({"x": [torch.ones(2), (1, "a")]}))
    guard = Guard()
    guard.raise_for(["logsumexp"])  # the list of all operators, and a warning that is given once per process
    guard.raise_for([])


def collapse_heap() -> None:
    """Put the heap on huge pages: a fork copies page tables, and 200 MB of small pages cost it 16 ms [measured].

    Only an economy: a kernel that does not know MADV_COLLAPSE (before Linux 6.1) goes on as it was.
    """
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps", encoding="ascii", errors="replace") as file:
        for line in file:
            addresses, permissions, _, _, inode = line.split()[:5]
            start, end = (int(part, 16) for part in addresses.split("-"))
            start, end = -(-start // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
            if permissions.startswith("rw") and inode == "0" and start < end:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


def no_check(exercise: str) -> None:
    """What `grader.check` is in a worker: a call that a notebook has left in a file costs nothing and tells nothing."""


def child(control: socket.socket, fds: list[int], confined: Confined, report: int, message: dict[str, Any]) -> None:
    """The worker's life, right after the fork. Does not return."""
    status = 1
    try:
        control.close()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        for fd in fds[1:]:
            os.dup2(fd, 1)
            os.dup2(fd, 2)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what a crash would lose is told
        told: dict[str, object]
        try:
            told = {"layers": confined.worker((*fds[:1], report))}
            if message["op"] == "canary":
                told["holes"] = holes(message["layers"], Path(message["outside"]))
        except OSError as error:
            told = {"failed": str(error)}
        os.write(report, msgspec.json.encode(told))
        os.close(report)
        if message["op"] == "fork" and "layers" in told:
            # Family and type are given, for to ask for them is a system call that a worker has no other need of.
            serve(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fds[0]))
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def end(worker: int) -> int:
    """Kill the worker's group and every process it left to us; its wait status."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may not have come as far as its own group
        os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    orphans.end()
    return status


def start(control: socket.socket, fds: list[int], confined: Confined, message: dict[str, Any]) -> tuple[int, bytes]:
    """A new worker: its pid, and what it says of its layers before it has seen anything of a student."""
    reader, writer = os.pipe()
    worker = os.fork()
    if worker == 0:
        child(control, fds, confined, writer, message)
    os.close(writer)
    for fd in fds:
        os.close(fd)
    with os.fdopen(reader, "rb") as file:
        return worker, file.read() or b'{"failed": "it ended at once"}'


def main() -> None:
    """Serve requests until the control socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which then closes the socket
    control = socket.socket(fileno=int(sys.argv[1]))
    asked = msgspec.json.decode(sys.argv[2], type=Confinement)
    sys.argv[1:] = []
    kept = set(os.environ)
    confined = Confined(asked)
    own = spaces()
    try:
        confined.zygote()
    except OSError as error:
        control.send(msgspec.json.encode(Ready(0, (), 0, own, str(error))))
        return
    orphans.die_with_parent()
    orphans.adopt()
    torch.set_num_threads(1)  # before any operator: no thread team may exist before a fork, none is needed after it
    torch.set_num_interop_threads(1)
    warm()
    vars(grader)["check"] = no_check
    for name in set(os.environ) - kept:  # torch adds one that names the user
        del os.environ[name]
    gc.collect()
    gc.freeze()  # pages that a worker's collector would otherwise touch, and so copy
    collapse_heap()
    threads = len(os.listdir("/proc/self/task"))
    confined.clean()  # torch keeps a folder there
    control.send(msgspec.json.encode(Ready(threads, tuple(confined.applied), landlock.abi(), own)))
    worker = 0
    while True:
        data, ancillary, _, _ = control.recvmsg(4096, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        if not data:
            break
        fds = array.array("i")
        for _, _, rights in ancillary:
            fds.frombytes(rights)
        message = msgspec.json.decode(data)
        if message["op"] == "kill":
            status, worker = end(worker), 0
            confined.clean()
            control.send(msgspec.json.encode({"status": status}))
        else:
            worker, told = start(control, list(fds), confined, message)
            if message["op"] == "canary":
                end(worker)
                worker = 0
            control.send(told)
    if worker:
        end(worker)


if __name__ == "__main__":
    main()
