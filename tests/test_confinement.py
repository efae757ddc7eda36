"""A worker in a sandbox: torch computes in it as anywhere, and there is nothing else that it can do or see."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import isolation
from grader.errors import EnvironmentRefused
from grader.isolation import UIDS, Zygote
from grader.model import Limits
from grader.remote import RemoteHandle

GENEROUS = Limits(call_s=60.0, load_s=60.0)
HIDDEN = Path(sysconfig.get_path("purelib")) / "hidden-by-a-test"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """One in namespaces, with a folder among the libraries that is to be hidden."""
    if sys.platform != "linux":
        pytest.skip("namespaces are Linux's")
    HIDDEN.mkdir()
    try:
        (HIDDEN / "answer.txt").write_text("42", encoding="ascii")
        with Zygote(GENEROUS, "namespace", [HIDDEN]) as one:
            yield one
    finally:
        shutil.rmtree(HIDDEN)


@pytest.fixture
def ask(zygote: Zygote) -> Iterator[Any]:
    """A function that executes a source text in a fresh worker and calls its `f`."""
    handles: list[RemoteHandle] = []

    def call(source: str, *args: Any) -> Any:
        if handles:
            handles[-1].close()
        handles.append(RemoteHandle(zygote, source, "student.py", GENEROUS))
        return handles[-1].f(*args)

    yield call
    handles[-1].close()


ARITHMETIC = """\
import dataclasses, decimal, fractions, statistics, threading
import torch
from torch import nn

def f():
    torch.manual_seed(0)
    x = torch.randn(8, 3, 16, 16)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(784, 5))
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu")
    results = []
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            loss = nn.functional.cross_entropy(model(x).float(), torch.zeros(8, dtype=torch.long))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        results.append(bool(loss.isfinite()))
    u, s, v = torch.linalg.svd(torch.randn(20, 20))
    results.append(bool(torch.fft.fft(torch.randn(64)).abs().isfinite().all()))
    torch.set_num_threads(2)
    big = torch.ones(1 << 21)
    results.append(float((big * 2).sum()) == 2.0 ** 22)
    threads = [threading.Thread(target=results.append, args=(True,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.append(torch.compiler.is_compiling() is False)
    return results
"""


def test_torch_computes(ask: Any) -> None:
    """Convolutions, optimizers, autocast, SVD, FFT, two threads, Python's own threads, modules imported late."""
    assert ask(ARITHMETIC) == [True] * 9


WORLD = """\
import os, pathlib

def names(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return error.errno

def read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        return error.errno

def f(hidden, here):
    return {
        "root": names("/"), "proc": names("/proc"), "here": names(here), "read": read(here),
        "hidden": names(hidden), "answer": read(hidden + "/answer.txt"), "beside": names(hidden + "/.."),
        "user": [*os.getresuid(), *os.getresgid(), *os.getgroups()], "cwd": os.getcwd(), "home": os.environ["HOME"],
        "pid": os.getpid(), "temporary": os.environ["TMPDIR"], "environment": sorted(os.environ),
        "descriptors": [fd for fd in range(256) if open_(fd)],
    }

def open_(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False
"""


def test_there_is_nothing_to_see(ask: Any) -> None:
    """No file of this repository, no process, no identity, one descriptor; what is hidden among libraries is gone."""
    seen = ask(WORLD, str(HIDDEN), __file__)

    assert isinstance(seen["root"], int)  # the top folder cannot even be listed
    assert isinstance(seen["proc"], int)
    assert seen["here"] == seen["read"] == 2  # there is no such file
    assert isinstance(seen["answer"], int)
    assert seen["hidden"] == []
    if os.getuid() == 0:
        assert len(set(seen["user"])) == 1
        assert seen["user"][0] in UIDS
    assert seen["cwd"] == seen["home"] == seen["temporary"] == "/scratch"
    assert seen["pid"] < 100  # of its own namespace
    assert set(seen["environment"]) == {*isolation.ENVIRONMENT, "PWD", "PYTHONPATH", "TMPDIR"}
    assert len(seen["descriptors"]) == 4


def test_without_a_sandbox_there_is_everything_to_see() -> None:
    """The same questions in the process tier: the repository's file, its text, the processes."""
    with Zygote(GENEROUS, "process") as zygote:
        handle = RemoteHandle(zygote, WORLD.replace('os.environ["TMPDIR"]', "0"), "student.py", GENEROUS)
        seen = handle.f(str(HIDDEN), __file__)
        handle.close()

    assert len(seen["root"]) > 5
    assert str(os.getpid()) in seen["proc"]
    assert "Without a sandbox".lower() in seen["read"].lower()


FILL = """\
import os

def f(what):
    try:
        if what == "bytes":
            for number in range(100):
                with open(f"file{number}", "wb") as file:
                    file.write(bytes(2**20))
        elif what == "one":
            with open("file", "wb") as file:
                file.write(bytes(5 * 2**20))
        elif what == "files":
            for number in range(10_000):
                open(f"file{number}", "x").close()
        elif what == "deep":
            for number in range(10_000):
                os.mkdir("d" * 200, 0o700)
                os.chdir("d" * 200)
        elif what == "closed":
            os.umask(0o777)
            os.mkdir("closed")
            for number in range(10_000):
                os.mkdir(f"closed{number}", 0)
    except OSError as error:
        return error.errno
"""
LEFT = """\
import os

def f():
    there = os.statvfs(".")
    return [os.listdir("."), there.f_bfree * there.f_frsize, there.f_ffree]
"""


@pytest.mark.parametrize("what", ["bytes", "one", "files", "deep", "closed"])
def test_the_scratch_folder_is_small_and_emptied(ask: Any, what: str) -> None:
    """4 MiB and 256 files, however they are laid out; the next worker finds it empty."""
    full, too_large = 28, 27  # ENOSPC, EFBIG
    clean = ask(LEFT)
    assert ask(FILL, what) == (too_large if what == "one" else full)

    assert ask(LEFT) == clean
    assert clean[0] == []
    assert 3.9 * 2**20 < clean[1] <= 4 * 2**20
    assert clean[2] < 256


def test_a_layer_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that the kernel does not take: the worker says so before it has seen anything of a student."""
    with Zygote(Limits(), "process") as zygote:
        monkeypatch.setattr(zygote, "_asked", zygote._asked.__class__(("rlimits", "seccomp"), Limits()))
        zygote.restart()
        with pytest.raises(
            EnvironmentRefused, match=r"a worker came up without rlimits, seccomp: .*seccomp: Invalid argument"
        ) as caught:
            zygote.fork()

    assert caught.value.exit_code == 5
