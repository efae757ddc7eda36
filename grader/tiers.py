"""Tiers of isolation: the layers of each, and what a machine lacks for them.

A tier is never lowered: what is missing raises EnvironmentRefused with the layer, the reason and the way round.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader import bubblewrap, landlock, seccomp
from grader.errors import EnvironmentRefused, UsageError
from grader.model import Isolation

__all__ = ["TIERS", "layers_of", "require", "why_no_namespaces"]

TIERS = ("namespace", "container", "process")
ACCEPT = "`--isolation process --accept-unsandboxed` grades with limits of time and memory only"


def layers_of(tier: str) -> tuple[str, ...]:
    """What has to be in force, in the order in which it is put on; deadlines are kept by the trusted side."""
    user = ("user",) if os.getuid() == 0 else ()
    match tier:
        case "namespace":
            return ("namespaces", "scratch", *user, "capabilities", "rlimits", "landlock", "seccomp", "deadlines")
        case "container":
            return (*user, "capabilities", "rlimits", "landlock", "seccomp", "deadlines")
    return ("rlimits", "deadlines")


def require(tier: str, *, accept_unsandboxed: bool) -> Isolation:
    """The layers that ``tier`` promises, as far as one can see without starting anything; a canary proves them later.

    Raises UsageError or EnvironmentRefused.
    """
    if tier not in TIERS:
        raise UsageError(f"unknown isolation `{tier}`; there is: {', '.join(TIERS)}")
    if tier == "process" and not accept_unsandboxed:
        raise EnvironmentRefused(
            "isolation `process` has time and memory limits only: a submission can read and change whatever you can. "
            "Add `--accept-unsandboxed` if you trust these submissions or this machine is disposable"
        )
    if sys.platform != "linux":
        raise EnvironmentRefused(
            f"grading forks its workers, which needs Linux; this is {sys.platform}. Use a Linux machine or container"
        )
    if tier == "namespace":
        bubblewrap.find()
    if tier != "process":
        if landlock.abi() < 1:
            raise EnvironmentRefused(
                f"isolation `{tier}` needs the layer `landlock`, which this kernel does not offer: `landlock` must"
                f" stand in /sys/kernel/security/lsm (kernel 5.13 or newer, boot option `lsm=landlock,…`). {ACCEPT}"
            )
        seccomp.compile_filter()
    return Isolation(tier=tier, applied=layers_of(tier), landlock_abi=0 if tier == "process" else landlock.abi())


SETTINGS = (  # file below /proc/sys, the value that forbids, what to do
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "install the distribution's bubblewrap, which has a profile"),
    ("kernel/unprivileged_userns_clone", "0", "set it to 1"),
    ("user/max_user_namespaces", "0", "set it to 1000 or more"),
)


def why_no_namespaces() -> str:
    """What forbids namespaces here, in a sentence, as far as this machine tells."""
    for name, forbids, remedy in SETTINGS:
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text(encoding="ascii").strip() == forbids:
            setting = name.replace("/", ".")
            return f"the setting {setting} = {forbids} forbids user namespaces: {remedy} (`sudo sysctl -w {setting}=…`)"
    return (
        "this machine does not let you make namespaces; that is so inside Docker, Kubernetes and Gradescope, where"
        " `--isolation container` is meant for grading"
    )
