"""A tier gives what it says or refuses in a sentence that names the layer, the reason and the way round."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from grader import bubblewrap, landlock, tiers
from grader.errors import EnvironmentRefused, UsageError
from grader.model import Isolation
from grader.tiers import layers_of, require, why_no_namespaces

linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


@pytest.mark.parametrize("tier", ["jail", "", "Process", "process "])
@pytest.mark.parametrize("accept", [True, False])
def test_an_unknown_tier_is_a_usage_error(tier: str, accept: bool) -> None:
    """Whatever else was said on the command line; the sentence names what there is."""
    with pytest.raises(UsageError) as caught:
        require(tier, accept_unsandboxed=accept)

    assert str(caught.value) == f"unknown isolation `{tier}`; there is: namespace, container, process"
    assert caught.value.exit_code == 2


def test_the_process_tier_needs_consent() -> None:
    """Without it the sentence says what is missing and the flag to accept less."""
    with pytest.raises(EnvironmentRefused) as caught:
        require("process", accept_unsandboxed=False)

    assert str(caught.value) == (
        "isolation `process` has time and memory limits only: a submission can read and change whatever you can. "
        "Add `--accept-unsandboxed` if you trust these submissions or this machine is disposable"
    )
    assert caught.value.exit_code == 5


@linux
def test_the_layers_of_the_process_tier() -> None:
    """With consent: limits and deadlines, and nothing that it does not have."""
    assert require("process", accept_unsandboxed=True) == Isolation("process", ("rlimits", "deadlines"), 0)


@linux
@pytest.mark.parametrize("uid", [0, 1000])
def test_the_layers_of_the_sandboxed_tiers(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    """Root becomes another user, and who is none already need not; consent to less changes nothing."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    user = ["user"] if uid == 0 else []

    assert layers_of("container") == (*user, "capabilities", "rlimits", "landlock", "seccomp", "deadlines")
    assert layers_of("namespace") == ("namespaces", "scratch", *layers_of("container"))
    assert require("namespace", accept_unsandboxed=True) == require("namespace", accept_unsandboxed=False)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_a_machine_that_cannot_fork_is_refused(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """The sentence names the system and the way round."""
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(EnvironmentRefused) as caught:
        require("process", accept_unsandboxed=True)

    assert str(caught.value) == (
        f"grading forks its workers, which needs Linux; this is {platform}. Use a Linux machine or container"
    )


@linux
@pytest.mark.parametrize("accept", [True, False])
def test_without_bubblewrap_there_are_no_namespaces_and_nothing_else_is_taken(
    monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    """Not even with consent to less: the weaker tier must be named."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(bubblewrap.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    with pytest.raises(EnvironmentRefused, match=r"`namespace` needs bubblewrap: `apt install bubblewrap`, or `pip"):
        require("namespace", accept_unsandboxed=accept)

    require("container", accept_unsandboxed=accept)


@linux
@pytest.mark.parametrize("tier", ["namespace", "container"])
def test_without_landlock_the_setting_is_named(monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    """And the flags that accept less."""
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(EnvironmentRefused) as caught:
        require(tier, accept_unsandboxed=False)

    assert f"isolation `{tier}` needs the layer `landlock`" in str(caught.value)
    assert "/sys/kernel/security/lsm" in str(caught.value)
    assert "--isolation process --accept-unsandboxed" in str(caught.value)
    assert require("process", accept_unsandboxed=True).landlock_abi == 0


@linux
@pytest.mark.parametrize("tier", ["namespace", "container"])
def test_without_libseccomp_the_packages_are_named(monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    """The library and the binding."""
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(EnvironmentRefused, match=r"layer `seccomp`.*apt install libseccomp2.*pip install") as caught:
        require(tier, accept_unsandboxed=False)

    assert caught.value.exit_code == 5


@pytest.mark.parametrize(("name", "value", "remedy"), tiers.SETTINGS)
def test_a_setting_that_forbids_namespaces_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, remedy: str
) -> None:
    """With its value, and what to do about it; with another value it is not."""
    setting = tmp_path / name
    setting.parent.mkdir(parents=True)
    monkeypatch.setattr(tiers, "Path", lambda path: tmp_path if path == "/proc/sys" else Path(path))

    setting.write_text(f"{value}\n", encoding="ascii")
    assert f"the setting {name.replace('/', '.')} = {value} forbids user namespaces: {remedy}" in why_no_namespaces()
    setting.write_text("7\n", encoding="ascii")
    assert why_no_namespaces().startswith("this machine does not let you make namespaces")
    assert "--isolation container" in why_no_namespaces()
