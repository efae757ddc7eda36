"""Whose children orphans become, and that they end."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.places import alive, wait_until_gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")

FAMILY = """
import json, os, sys, time
from grader import orphans
orphans.end()  # before adopt: touches nobody
if sys.argv[1] == "adopt":
    orphans.adopt()
reader, writer = os.pipe()
own = os.fork()
if own == 0:
    time.sleep(60)
child = os.fork()
if child == 0:
    os.setsid()
    grandchild = os.fork()
    if grandchild == 0:
        os.write(writer, str(os.getpid()).encode())
        time.sleep(60)
    os._exit(0)
os.waitpid(child, 0)
grandchild = int(os.read(reader, 20))
orphans.end(keep=[own])
print(json.dumps([own, grandchild]), flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["adopt", "leave"])
def test_orphans_are_adopted_and_ended(how: str) -> None:
    """One in a session of its own is gone, the child that was to be kept is not; without adoption both live on."""
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as family:
        assert family.stdin is not None
        assert family.stdout is not None
        own, orphan = json.loads(family.stdout.readline())
        try:
            assert alive(own)
            assert alive(orphan) is (how == "leave")
        finally:
            for pid in (own, orphan):
                subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)
            family.stdin.close()


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; from grader import orphans; {call}; print('up', flush=True); time.sleep(60)"],
                         stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""  # noqa: E501 - one line of another program


@pytest.mark.parametrize("call", ["orphans.die_with_parent()", "None"])
def test_whoever_asks_for_it_dies_with_its_parent(call: str) -> None:
    """Killed without warning, the parent takes it along; without the call it lives on."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT.replace("{call}", call)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    try:
        if call == "None":
            assert alive(child)
        else:
            assert wait_until_gone([child]) == []
    finally:
        subprocess.run(["kill", "-9", str(child)], check=False, capture_output=True)
