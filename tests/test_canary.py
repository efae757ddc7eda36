"""The canary finds what a layer leaves open: every attempt succeeds where its layer is missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import bubblewrap, isolation
from grader.canary import attempts
from grader.confinement import Confinement
from grader.errors import EnvironmentRefused
from grader.isolation import PACKAGE, Zygote
from grader.model import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="layers are Linux's")
ALL = ("namespaces", "scratch", "user", "rlimits", "landlock", "seccomp")


@pytest.fixture(scope="module")
def open_house() -> Iterator[Zygote]:
    """A zygote without any layer: not even limits are asked for."""
    with Zygote(Limits(), "process") as zygote:
        yield zygote


def test_each_attempt_succeeds_without_its_layer(open_house: Zygote) -> None:
    """All but those about limits, which every tier has, and those that only root can make."""
    asked: dict[str, object] = {"op": "canary", "layers": ALL, "outside": str(PACKAGE / "isolation.py")}
    found = set(open_house.request(asked).holes)
    as_root = set() if os.getuid() == 0 else {"be root", "mount", "make a folder in /"}
    as_root |= set() if os.access(os.__file__, os.W_OK) else {"write to a library"}

    assert found == set(attempts(Path())) - {"take all memory", "dump core"} - as_root


@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
def test_a_layer_that_is_promised_and_missing_is_found(monkeypatch: pytest.MonkeyPatch, layer: str) -> None:
    """One that says it is there and is not: refused with what a worker could do, and nothing is graded."""

    def lying(layers: tuple[str, ...], **rest: Any) -> Confinement:
        return Confinement(tuple(one for one in layers if one != layer), **rest)

    monkeypatch.setattr(isolation, "Confinement", lying)
    with pytest.raises(EnvironmentRefused, match="isolation `namespace` does not hold here: a worker could ") as caught:
        Zygote(Limits(), "namespace")

    told = [name for name, (stops, _) in attempts(Path()).items() if stops == layer and name in str(caught.value)]
    assert told
    assert caught.value.exit_code == 5


def test_namespaces_that_are_shared_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox program that starts the zygote without making any: their identities are compared."""
    monkeypatch.setattr(bubblewrap, "command", lambda program, files, hidden: list(program))
    monkeypatch.setattr(isolation, "layers_of", lambda tier: ("namespaces", "rlimits", "deadlines"))
    with pytest.raises(EnvironmentRefused, match=r"`namespaces` is not there: ipc, mnt, net, pid, uts is shared"):
        Zygote(Limits(), "namespace")
