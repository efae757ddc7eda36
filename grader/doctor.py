"""Whether this machine can grade: every tier of isolation is started, and every layer of it attacked by a canary."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grader.canary import attempts
from grader.errors import EnvironmentRefused, GraderError
from grader.isolation import Zygote
from grader.model import CheckFailure, Isolation, Limits
from grader.remote import RemoteHandle
from grader.run import versions
from grader.tiers import TIERS, require

__all__ = ["Diagnosis", "examine", "text"]

ENDLESS = "def endless():\n    while True:\n        pass\n"
DEADLINE = Limits(call_s=0.5)
MEANINGS = {
    "namespaces": "own view of files, processes, network",
    "scratch": "4 MiB of disk, gone with the worker",
    "user": "a user without rights and files",
    "capabilities": "nothing that root may do",
    "rlimits": "memory, size of files, core dumps",
    "landlock": "files that may be opened",
    "seccomp": "system calls that may be made",
    "deadlines": "an end to every call",
}


class Diagnosis(msgspec.Struct, frozen=True):
    """What became of one tier on this machine; ``trouble`` says why it cannot be had, or is empty."""

    tier: str
    trouble: str
    isolation: Isolation | None


def examine(tiers: Sequence[str] = TIERS, progress: Callable[[str], None] = lambda tier: None) -> list[Diagnosis]:
    """Start each tier, let a canary try what its layers must stop, and a call loop for ever. Raises UsageError."""
    found = []
    for tier in tiers:
        progress(tier)
        try:
            require(tier, accept_unsandboxed=True)
            with Zygote(DEADLINE, tier) as zygote:
                _loop(zygote)
                found.append(Diagnosis(tier, "", zygote.isolation))
        except GraderError as error:
            if error.exit_code not in (EnvironmentRefused.exit_code, GraderError.exit_code):
                raise
            found.append(Diagnosis(tier, str(error), None))
    return found


def _loop(zygote: Zygote) -> None:
    handle = RemoteHandle(zygote, ENDLESS, "endless.py", DEADLINE)
    try:
        handle.ask("call", "endless", (), {})
    except CheckFailure as failure:
        if failure.kind == "timeout":
            return
        raise EnvironmentRefused(f"an endless call was not ended by its deadline: {failure.evidence.message}") from None
    finally:
        handle.close()
    raise EnvironmentRefused("an endless call came back")


def text(found: Sequence[Diagnosis]) -> str:
    """The findings for a terminal."""
    who = "root" if os.getuid() == 0 else "an ordinary user"
    lines = [
        f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores, as {who}",
        ", ".join(f"{name} {version}" for name, version in versions().items() if name != "platform"),
    ]
    tried: dict[str, list[str]] = {}
    for name, (layer, _) in attempts(Path()).items():
        tried.setdefault(layer, []).append(name)
    tried["deadlines"] = ["loop for ever"]
    for one in found:
        lines += ["", f"isolation {one.tier}"]
        if one.isolation is None:
            lines.append(f"  ✗ {one.trouble}")
            continue
        for layer in one.isolation.applied:
            vain = f"; tried in vain: {', '.join(tried[layer])}" if layer in tried else "; all sets are empty"
            lines.append(f"  ✓ {layer:<13} {MEANINGS[layer]}{vain}")
        if one.tier == "process":
            lines.append("  ! no sandbox: a submission can read and change whatever you can")
    return "\n".join(lines)
