"""The doctor tells of every tier whether it holds, and what was tried in vain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import doctor
from grader.doctor import Diagnosis, examine, text
from grader.errors import UsageError
from grader.model import CheckFailure, Evidence, Isolation
from grader.remote import RemoteHandle
from grader.tiers import layers_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="tiers are Linux's")


def test_a_tier_that_holds_is_told_with_its_layers() -> None:
    """Each layer on a line of its own, with the attempts that failed on it."""
    told: list[str] = []
    (found,) = examine(["process"], told.append)

    assert told == ["process"]
    assert found == Diagnosis("process", "", Isolation("process", ("rlimits", "deadlines"), 0))
    lines = text([found]).splitlines()
    assert lines[0].startswith("Linux ")
    assert "torch" in lines[1]
    assert lines[3:] == [
        "isolation process",
        "  ✓ rlimits       memory, size of files, core dumps; tried in vain: take all memory, dump core",
        "  ✓ deadlines     an end to every call; tried in vain: loop for ever",
        "  ! no sandbox: a submission can read and change whatever you can",
    ]


def test_a_tier_that_cannot_be_had_is_told_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence of the refusal; the other tiers are examined nevertheless."""
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    container, process = examine(["container", "process"])

    assert "needs the library libseccomp" in container.trouble
    assert container.isolation is None
    assert not process.trouble
    assert f"isolation container\n  ✗ {container.trouble}\n" in text([container, process])


def test_an_unknown_tier_is_a_usage_error() -> None:
    """It is no finding about the machine."""
    with pytest.raises(UsageError):
        examine(["jail"])


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (5, "an endless call came back"),
        (CheckFailure(Evidence(kind="crash", message="it died")), "was not ended by its deadline: it died"),
    ],
)
def test_a_deadline_that_does_not_hold_is_told(
    monkeypatch: pytest.MonkeyPatch, answer: int | CheckFailure, trouble: str
) -> None:
    """Whether the endless call comes back or ends in another way."""

    class Odd(RemoteHandle):
        def ask(self, *args: object, **more: object) -> int:  # noqa: ARG002 - whatever is asked
            if isinstance(answer, CheckFailure):
                raise answer
            return answer

    monkeypatch.setattr(doctor, "RemoteHandle", Odd)
    (found,) = examine(["process"])

    assert trouble in found.trouble


def run(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """The command."""
    command = [sys.executable, "-m", "grader", "doctor", *arguments]
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_command_says_whether_the_default_tier_holds() -> None:
    """As JSON and nothing else, with all that was found; exit code 0."""
    done = run("--json", "--isolation", "namespace")
    document = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    (found,) = document["isolation"]
    assert (document["schema"], found["tier"], found["trouble"]) == (1, "namespace", "")
    assert found["isolation"]["applied"] == list(layers_of("namespace"))
    assert found["isolation"]["landlock_abi"] >= 1
    assert done.stderr == "trying isolation namespace …\n"


def test_the_command_exits_with_5_where_it_does_not_hold(tmp_path: Path) -> None:
    """With the sentence on standard output, as a finding."""
    (tmp_path / "pyseccomp.py").write_text("raise ImportError('it is not here')", encoding="ascii")
    done = run("--isolation", "namespace", path=str(tmp_path))

    assert done.returncode == 5
    assert (
        "✗ the layer `seccomp` needs the library libseccomp and the package pyseccomp: it is not here." in done.stdout
    )


def test_the_command_refuses_an_unknown_level() -> None:
    """That is a usage error, and no finding."""
    done = run("--isolation", "jail")

    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown isolation `jail`" in done.stderr
