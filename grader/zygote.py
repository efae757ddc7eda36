"""The zygote: a process that imports torch once and forks a worker per request. Run as ``python -m grader.zygote``.

It is started with a scrubbed environment, holds no check and no expected value, never runs student code and never
reads what a worker wrote: a fork of it has nothing to steal. Requests come as JSON datagrams on the control
socket; ``fork`` brings two descriptors (the worker's socket and its output pipe), ``kill`` ends the worker and
everything it left behind.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys

import torch

import grader
from grader import isolation, wire
from grader.guard import Guard
from grader.model import Limits
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


def child(control: socket.socket, fds: list[int], limits: Limits) -> None:
    """The worker's life, right after the fork. Does not return."""
    status = 1
    try:
        control.close()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(null)
        os.close(fds[1])
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what a crash would lose is told
        isolation.confine(limits)
        serve(socket.socket(fileno=fds[0]))
        status = 0
    finally:
        os._exit(status)


def end(worker: int) -> int:
    """Kill the worker's group and every process it left to us; its wait status."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may not have come as far as its own group
        os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    isolation.end_strays()
    return status


def main() -> None:
    """Serve requests until the control socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which then closes the socket
    isolation.prctl(isolation.PR_SET_PDEATHSIG, signal.SIGKILL)
    isolation.adopt_strays()
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Limits(**json.loads(sys.argv[2]))
    sys.argv[1:] = []
    torch.set_num_threads(1)  # before any operator: no thread team may exist before a fork, none is needed after it
    torch.set_num_interop_threads(1)
    warm()
    vars(grader)["check"] = no_check
    for name in set(os.environ) - set(isolation.ENVIRONMENT):  # torch adds one that names the user
        del os.environ[name]
    gc.collect()
    gc.freeze()  # pages that a worker's collector would otherwise touch, and so copy
    collapse_heap()
    control.send(json.dumps({"threads": len(os.listdir("/proc/self/task"))}).encode())
    worker = 0
    while True:
        message, ancillary, _, _ = control.recvmsg(4096, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        if not message:
            break
        fds = array.array("i")
        for _, _, data in ancillary:
            fds.frombytes(data)
        if json.loads(message)["op"] == "fork":
            worker = os.fork()
            if worker == 0:
                child(control, list(fds), limits)
            for fd in fds:
                os.close(fd)
            control.send(json.dumps({"pid": worker}).encode())
        else:
            status, worker = end(worker), 0
            control.send(json.dumps({"status": status}).encode())
    if worker:
        end(worker)


if __name__ == "__main__":
    main()
