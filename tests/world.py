"""A world for attacks: things to steal, to change, to kill and to talk to, and what an attack has reached of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.duo import HONEST, duo

__all__ = ["World"]

OUTPUT_LIMIT = 80_000  # characters that a Run may hold: 64 KiB of output, and a note of what was left out
PERSONS_HOME = Path("~").expanduser()
LITTERED = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/"), PERSONS_HOME, PERSONS_HOME / ".cache")

VICTIM = """\
import ctypes, os, sys
vault = open(sys.argv[1], "rb")
os.unlink(sys.argv[1])
memory = ctypes.create_string_buffer(os.environ["TOKEN"].encode(), 128)
print(ctypes.addressof(memory), vault.fileno(), flush=True)
for line in sys.stdin:
    print(bytes(memory).hex(), flush=True)
"""


class World:
    """Folders with secrets, results to change, somebody to kill and somebody who listens. A context manager.

    Nothing is protected by the modes of its files: the layers have to do it.
    """

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="hostile-"))
        self.folder = duo(self.root / "course", secrets.randbelow(2**22) + 2**22, self.token())
        self.canary = self._canary()
        self.hidden = [self.root / "course", self.root / "results", self.root / "site" / "hidden"]
        for name, text in {
            "results/ada.json": '{"points": 0}',
            "submissions/grace/duo.py": f"# {self.token()}\n{HONEST}",
            "site/shared.py": "shared = 1\n",
            "site/hidden/keys.py": f"KEY = '{self.token()}'\n",
        }.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.outside = self.root / "outside"
        self.outside.mkdir()
        for path in (self.root, *self.root.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        self._listen()
        self._start_victim()
        self.nonce = ""
        os.environ["COURSE_TOKEN"] = self.token()

    def token(self) -> str:
        """A new one; none of them may be seen by a submission."""
        return f"TOKEN-{secrets.token_hex(16)}"

    def _canary(self) -> str:
        return (self.folder / "checks" / "hidden" / "test_duo.py").read_text("utf-8").partition("CANARY = ")[2][:7]

    def _listen(self) -> None:
        self.abstract = f"hostile-{secrets.token_hex(8)}"
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unix.bind("\0" + self.abstract)
        letters = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        letters.bind("\0" + self.abstract + "-letters")
        named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        named.bind(str(self.root / "letterbox"))
        (self.root / "letterbox").chmod(0o777)
        tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        unix.listen(64)
        self.ports = tcp.getsockname()[1], udp.getsockname()[1]
        self.streams, self.letters = (unix, tcp), (letters, named, udp)
        for sock in (*self.streams, *self.letters):
            sock.setblocking(False)

    def _heard(self) -> bool:
        heard = False
        for sock in self.streams:
            with contextlib.suppress(BlockingIOError):
                while True:
                    sock.accept()[0].close()
                    heard = True
        for sock in self.letters:
            with contextlib.suppress(BlockingIOError):
                while True:
                    sock.recv(1 << 16)
                    heard = True
        return heard

    def _start_victim(self) -> None:
        vault = self.root / "vault"
        vault.write_text(self.token(), encoding="utf-8")
        self.victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, str(vault), self.token()],
            env={"TOKEN": self.token()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.victim.stdout is not None
        self.address, self.vault = self.victim.stdout.readline().split()
        self.memory = self._ask_victim()

    def _ask_victim(self) -> str:
        assert self.victim.stdin is not None and self.victim.stdout is not None
        with contextlib.suppress(OSError):
            self.victim.stdin.write("\n")
            self.victim.stdin.flush()
            if select.select([self.victim.stdout], [], [], 5.0)[0]:
                return self.victim.stdout.readline()
        return "gone"

    def render(self, source: bytes) -> bytes:
        """A template of the corpus, with what it asks for."""
        values = {
            "NONCE": self.nonce,
            "MARK": self.outside / f"mark-{self.nonce}",
            "OUTSIDE": self.outside,
            "SECRET": self.folder / "checks" / "hidden" / "test_duo.py",
            "INSTALLED": self.root / "site" / "hidden" / "keys.py",
            "SHARED": self.root / "site" / "shared.py",
            "RESULTS": self.root / "results",
            "SIBLING": self.root / "submissions" / "grace" / "duo.py",
            "VICTIM": self.victim.pid,
            "ADDRESS": self.address,
            "VAULT": self.vault,
            "GRADER": os.getpid(),
            "PORT": self.ports[0],
            "UDP": self.ports[1],
            "ABSTRACT": self.abstract,
            "LETTERBOX": self.root / "letterbox",
        }
        for name, value in values.items():
            source = source.replace(f"@{name}@".encode(), str(value).encode())
        bytes_of = {
            "NUL": b"\0",
            "BAD": b"\xff\xfe\x80",
            "BOM": b"\xef\xbb\xbf",
            "NL": b"\n",
            "DEEP": b"(" * 5000,
            "CHAIN": b" + 1" * 30_000,
            "HUGE": b"#" * (30 << 20),
        }
        for name, raw in bytes_of.items():
            source = source.replace(f"@{name}@".encode(), raw)
        return source

    def hand_in(self, name: str, files: Mapping[str, bytes], links: Mapping[str, str]) -> Path:
        """An entry as a student hands it in, a file if there is but one; what it attacks with is new for each."""
        self.nonce = secrets.token_hex(8)
        folder = self.root / "submissions" / name
        folder.mkdir(exist_ok=True)
        for file, template in files.items():
            (folder / file).write_bytes(self.render(template))
        for file, target in links.items():
            (folder / file).symlink_to(self.render(target.encode()).decode())
        self.before = self._state()
        return folder if links or len(files) > 1 else folder / "duo.py"

    def _state(self) -> dict[str, object]:
        tree = sorted(
            path for name in ("results", "site", "submissions/grace") for path in (self.root / name).rglob("*")
        )
        content = {str(p): (p.stat().st_mode, p.read_bytes() if p.is_file() else b"") for p in tree}
        shared = content.pop(str(self.root / "site" / "shared.py"), None)
        digest = hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()
        return {
            "results": digest,
            "site": shared,
            "fds": len(os.listdir("/proc/self/fd")),
            "process": self._processes(),
        }

    def _processes(self) -> tuple[int, int]:
        """Those of this world, for forks of a zygote have its command line with our folders; those of this attack."""
        ours = attack = 0
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdigit() else b""
                ours += os.fsencode(self.root) in command
                attack += bool(self.nonce) and self.nonce.encode() in command
        return ours, attack

    def reached(self, public: str, all_text: str) -> set[str]:
        """What the last entry has reached. ``public``: what a student is told; ``all_text``: whatever is kept of it."""
        found = set()
        before, self.before = self.before, self._state()
        for _ in range(100):
            if self.before["process"] == before["process"]:
                break
            time.sleep(0.01)  # a process that has been killed is there for a moment
            self.before = self._state()
        found |= {name for name, value in self.before.items() if value != before[name]}
        if list(self.outside.iterdir()):
            found.add("mark")
        if "TOKEN-" in all_text:
            found.add("token")
        if f"REACHED {self.nonce}" in all_text:
            found.add("printed")
        if self.canary in public:
            found.add("leak")
        if len(all_text) > OUTPUT_LIMIT:
            found.add("flood")
        if self._heard():
            found.add("listener")
        if self._ask_victim() != self.memory:
            found.add("victim")
        if self._litter():
            found.add("litter")
        self._restore()
        return found

    def _litter(self) -> list[Path]:
        return [path for folder in LITTERED if folder.is_dir() for path in folder.glob(f"*{self.nonce}*")]

    def _restore(self) -> None:
        """What a control has broken."""
        for path in (*self._litter(), *self.outside.iterdir()):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.root / "results").chmod(0o777)
        for path in (self.root / "results").iterdir():
            path.unlink()
        (self.root / "results" / "ada.json").write_text('{"points": 0}', encoding="utf-8")
        (self.root / "results" / "ada.json").chmod(0o666)
        (self.root / "site" / "shared.py").write_text("shared = 1\n", encoding="utf-8")
        if self.victim.poll() is not None:
            self._end_victim()
            self._start_victim()
        self.memory = self._ask_victim()
        for name in os.listdir("/proc"):  # what a control has left running
            with contextlib.suppress(OSError):
                if name.isdigit() and self.nonce.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    os.kill(int(name), 9)

    def _end_victim(self) -> None:
        self.victim.kill()
        self.victim.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_victim()
        for sock in (*self.streams, *self.letters):
            sock.close()
        shutil.rmtree(self.root)
