"""A grader as many are written: checks, answers, key and results live in the process that imports the submission.

It is what attacks that lie or forge are tried against, so that a test of them can fail. ``python -m tests.naive ROOT``
reads requests as JSON lines and forks for each, because importing torch takes seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import resource
import signal
import socket
import struct
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._refs  # or an entry would spend its second on it

__all__ = ["main"]

Function = Callable[[Any], Any]
ENDS_AFTER_S = 1.6  # the watchdog inside has 0.8 s; what outlives both has hung the grader
HEAD = struct.Struct("<cQ")


def _allclose(double: Function, _: torch.Tensor) -> bool:
    x = torch.tensor([1.0, 2.0, 3.0])
    want = x * 2
    got = double(x)
    return torch.allclose(got, want)


def _tolerance(double: Function, secret: torch.Tensor) -> bool:
    x = secret.clone()
    want = x * 2
    got = double(x)
    return not bool(((got - want).abs() > 1e-6).any())


def _percent(double: Function, _: torch.Tensor) -> bool:
    x = torch.tensor([1.0009, 3.0007, 5.0003])
    want = x * 2
    got = double(x)
    return bool(((got - want).abs() < 0.01 * want.abs()).all())


def _operator(double: Function, _: torch.Tensor) -> bool:
    want = 3.0
    got = double(1.5)
    return bool(got == want)


def _afterwards(double: Function, _: torch.Tensor) -> bool:
    x = torch.tensor([4.0, 5.0])
    got = double(x)
    return torch.equal(got, x.mul_(2))


def _dtype(double: Function, _: torch.Tensor) -> bool:
    x = torch.tensor([7.0, 9.0], dtype=torch.float32)
    want = x * 2
    got = double(x)
    return bool(got.dtype == x.dtype and got.tolist() == want.tolist())


DOUBLE = (_allclose, _tolerance, _percent, _operator, _afterwards, _dtype)


def _rows(lse: Function) -> bool:
    x = torch.tensor([[0.5, 2.0], [3.0, -1.0]])
    want = torch.logsumexp(x, 1)
    got = lse(x)
    return torch.allclose(got, want)


def _late(*_: object) -> None:
    raise TimeoutError


def _load(path: Path) -> types.ModuleType:
    module = types.ModuleType(path.stem)
    text = path.read_text(encoding="utf-8")
    try:
        code = compile(text, path.name, "exec")
    except SyntaxError:
        print("cannot compile:", text[:2000])
        raise
    try:
        exec(code, module.__dict__)
    except Exception as error:  # noqa: BLE001 - as such graders do
        print("ERROR", error)
    return module


def _points(path: Path, secret: torch.Tensor, results: dict[str, int]) -> None:
    results[path.stem] = points = 0
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(1)
    module = _load(path)
    if not hasattr(module, "double") and not hasattr(module, "lse"):
        print("no function `double` in", path.read_text(encoding="utf-8"))
    tasks = [(check.__name__, lambda f, check=check: check(f, secret), "double") for check in DOUBLE]
    for name, check, function in [*tasks, ("_rows", _rows, "lse")]:
        f = getattr(module, function, None)
        if f is None:
            continue
        signal.setitimer(signal.ITIMER_REAL, 0.8)

        def called(x: Any, f: Function = f) -> Any:
            try:
                return f(x)
            except Exception as error:  # noqa: BLE001 - as such graders do
                print("RAISED", error)
                return torch.full((1,), -1.0)

        passed = check(called)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        print("PASSED" if passed else "FAILED", path.stem + name)
        points += bool(passed)
        results[path.stem] = points
        Path("results.json").write_text(json.dumps(results), encoding="utf-8")  # in case that something happens


def in_process(paths: list[Path], key: str) -> int:
    """The usual way; ``key`` signs the results. The exit code says whether the first one has passed."""
    secret = torch.tensor([float(re.findall(r"CANARY = (\d+)", key)[0]), 1.0, 2.0])
    results: dict[str, int] = {}
    for path in paths:
        _points(path, secret, results)
    Path("results.json").write_text(json.dumps(results), encoding="utf-8")
    sys.stdout.flush()
    return 0 if results[paths[0].stem] else 1


def _messages(sock: socket.socket, fds: list[int]) -> Iterator[dict[str, Any]]:
    """Length, kind, content: whatever a worker says."""

    def exactly(size: int) -> bytes:
        data = bytearray(size) if size < 1 << 20 else bytearray()
        view, at = memoryview(data), 0
        while at < size:
            chunk, found, _, _ = socket.recv_fds(sock, size - at, 64)
            fds.extend(found)
            if not chunk:
                raise EOFError
            view[at : at + len(chunk)] = chunk
            at += len(chunk)
        return bytes(data)

    while True:
        kind, size = HEAD.unpack(exactly(HEAD.size))
        content = exactly(size)
        if kind == b"R":
            head = json.loads(content)
            yield {"value": torch.empty(head["shape"], dtype=getattr(torch, head["dtype"])).zero_()}
        else:
            yield json.loads(content) if kind == b"J" else pickle.loads(content)


def _child(path: Path, sock: socket.socket) -> None:
    module = _load(path)
    while True:
        request = sock.recv(1 << 16)
        if not request:
            os._exit(0)
        try:
            value = module.double(pickle.loads(request))
        except Exception as error:  # noqa: BLE001 - as such graders do
            value = str(error)
        content = pickle.dumps({"value": value})
        sock.sendall(HEAD.pack(b"P", len(content)) + content)


def with_a_child(path: Path) -> int:
    """The submission in a child, whose word is believed: pickles, no sequence, a field that says `passed`."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        _child(path, theirs)
    theirs.close()
    fds: list[int] = []
    messages = _messages(ours, fds)
    points = 0
    for value in (1.0, 2.0, 3.0):
        x = torch.tensor([value])
        ours.sendall(pickle.dumps(x))
        reply = next(messages)
        points += bool(reply.get("passed") or torch.equal(torch.as_tensor(reply.get("value", 0.0)), x * 2))
    Path("results.json").write_text(json.dumps({path.stem: points, "fds": len(fds)}), encoding="utf-8")
    return 0 if points else 1


def _grade(request: dict[str, Any], key: str) -> None:
    os.setsid()
    os.chdir(request["home"])
    out = os.open("stdout", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    reader, _writer = os.pipe()  # somebody's keyboard, on which nobody types
    os.dup2(reader, 0)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # of this machine, which is no part of the play
    resource.setrlimit(resource.RLIMIT_CPU, (4, 4))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    paths = [Path(path) for path in request["paths"]]
    try:
        sys.exit(with_a_child(paths[0]) if request["child"] else in_process(paths, key))
    except SystemExit as exit_:
        code = exit_.code
        sys.stdout.flush()
        _finish(code if isinstance(code, int) else 0 if code is None else 1)
    except BaseException:  # noqa: BLE001 - what the interpreter would do
        sys.excepthook(*sys.exc_info())
        _finish(1)


def _finish(code: int) -> None:
    import atexit

    atexit._run_exitfuncs()
    os._exit(code)


def main() -> None:
    """Serve requests until standard input ends."""
    torch.set_num_threads(1)
    torch._refs.logsumexp(torch.ones(2, 2), 1)
    key = Path(sys.argv[1]).read_text(encoding="utf-8")
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _grade(request, key)
        deadline = time.monotonic() + ENDS_AFTER_S
        done, status = 0, 0
        while not done and time.monotonic() < deadline:
            time.sleep(0.005)
            done, status = os.waitpid(pid, os.WNOHANG)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not done:
            _, status = os.waitpid(pid, 0)
        print(json.dumps({"hung": not done, "status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
