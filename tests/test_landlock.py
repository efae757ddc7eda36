"""What a process may open once it is under the rules, whatever its user may; and how hidden folders are cut out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import landlock
from grader.landlock import split

pytestmark = pytest.mark.skipif(sys.platform != "linux" or landlock.abi() < 1, reason="this kernel has no Landlock")

PROBE = """
import json, os, signal, socket, sys
from pathlib import Path
from grader import landlock
base, restricted = Path(sys.argv[1]), sys.argv[2] == "restricted"
listener = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(f"\\0grader-{os.getpid()}")
abstract.listen()
TRIES = {
    "read": lambda: (base / "open" / "file").read_bytes(),
    "list": lambda: os.listdir(base / "open"),
    "read beside": lambda: (base / "closed").read_bytes(),
    "read hidden": lambda: (base / "open" / "hidden" / "file").read_bytes(),
    "list hidden": lambda: os.listdir(base / "open" / "hidden"),
    "read beside hidden": lambda: (base / "open" / "deep" / "file").read_bytes(),
    "write": lambda: (base / "open" / "file").write_bytes(b"x"),
    "make": lambda: (base / "open" / "new").write_bytes(b"x"),
    "remove": lambda: (base / "open" / "victim").unlink(),
    "scratch": lambda: (base / "scratch" / "new").write_bytes(b"x"),
    "scratch folder": lambda: (base / "scratch" / "folder").mkdir(),
    "scratch remove": lambda: (base / "scratch" / "new").unlink(),
    "scratch link": lambda: (base / "scratch" / "link").symlink_to("/etc"),
    "through a link": lambda: (base / "open" / "link").read_bytes(),
    "null": lambda: Path("/dev/null").write_bytes(b"x"),
    "proc": lambda: Path("/proc/self/status").read_bytes(),
    "connect": lambda: socket.create_connection(listener.getsockname()).close(),
    "execute": lambda: os.posix_spawn(str(base / "open" / "program"), ["program"], {}),
    "signal": lambda: os.kill(os.getppid(), 0),
}
rules = landlock.ruleset([base / "open"], [base / "scratch"], [base / "open" / "hidden"])
def outcome(call):
    try:
        call()
        return 0
    except OSError as error:
        return error.errno
pid = os.fork()
if pid == 0:
    if restricted:
        landlock.restrict(rules)
    TRIES["abstract socket"] = lambda: socket.socket(socket.AF_UNIX).connect(abstract.getsockname())
    print(json.dumps({name: outcome(call) for name, call in TRIES.items()}), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""
ALLOWED = {
    "read", "list", "list hidden", "read beside hidden", "scratch", "scratch folder", "scratch remove", "null",
}  # fmt: skip


def probe(base: Path, how: str) -> dict[str, Any]:
    """What can be done in ``base``, restricted or free: errno by attempt, 0 for success."""
    for name in ("open/file", "open/victim", "open/hidden/file", "open/deep/file", "closed", "scratch/old"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_bytes(b"here")
    (base / "open" / "link").symlink_to("../closed")
    program = base / "open" / "program"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", PROBE, str(base), how], capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_only_what_was_named_can_be_opened(tmp_path: Path) -> None:
    """Reading what is readable, changing what is scratch; without the rules, everything succeeds.

    Names within a hidden folder can be listed, for the right to list its parent reaches down: its files cannot be read.
    """
    restricted, free = probe(tmp_path / "one", "restricted"), probe(tmp_path / "two", "free")
    version = landlock.abi()
    later = {"connect": 4, "abstract socket": 6, "signal": 6}  # what older kernels cannot forbid
    allowed = ALLOWED | {name for name, first in later.items() if version < first}

    assert {name for name, number in restricted.items() if number == 0} == allowed
    assert {number for name, number in restricted.items() if name not in allowed} <= {1, 13}
    assert {name for name, number in free.items() if number} == set()


def test_a_path_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """A rule that is silently left out would be a layer that is silently lowered."""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        landlock.ruleset([tmp_path / "missing"], [], [])

    assert len(os.listdir("/proc/self/fd")) <= before + 1  # the rules, which nobody holds


def test_what_is_hidden_is_cut_out(tmp_path: Path) -> None:
    """The folders on the way can be listed, their other children read; links among them are no way in."""
    for name in ("a/b/hidden/x", "a/b/y", "a/z", "c/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "a" / "link").symlink_to("b/hidden")
    whole, listed = split([tmp_path / "a", tmp_path / "c"], [tmp_path / "a" / "b" / "hidden"])

    assert sorted(whole) == [tmp_path / "a" / "b" / "y", tmp_path / "a" / "z", tmp_path / "c"]
    assert sorted(listed) == [tmp_path / "a", tmp_path / "a" / "b"]


def test_what_is_readable_inside_of_something_hidden_stays_readable(tmp_path: Path) -> None:
    """A course is hidden as a whole, and its environment lies in it."""
    environment = tmp_path / "course" / ".venv"

    assert split([environment], [tmp_path / "course"]) == ([environment], [])
    assert split([environment], [environment]) == ([], [])
