"""What a submission prints: read as it comes, kept from both ends, bounded."""

from __future__ import annotations

import contextlib
import os

from grader import plain
from grader.model import Limits

__all__ = ["Flooded", "Output"]


class Flooded(Exception):  # noqa: N818 - it says more than an error would
    """A worker printed more than it may."""


class Output:
    """Collects bytes from workers' pipes; keeps the head and the tail."""

    def __init__(self, limits: Limits) -> None:
        self._half = limits.output_kb * 1024 // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        self._most = limits.output_kill_mb * 2**20
        self._allowed = self._most

    def begin(self) -> None:
        """A new worker, with the whole allowance."""
        self._allowed = self.total + self._most

    def drain(self, fd: int) -> None:
        """Take what can be read now from the non-blocking descriptor ``fd``. Raises Flooded past the allowance."""
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        self.add(data)
        if self.total > self._allowed:
            raise Flooded

    def finish(self, fd: int) -> None:
        """Take what a worker that is about to be ended has printed last; not more than a pipe holds."""
        with contextlib.suppress(BlockingIOError, Flooded):
            self.add(os.read(fd, 1 << 20))  # the largest pipe an ordinary user can have

    def add(self, data: bytes) -> None:
        """Take ``data`` as printed."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._half:
            del self._tail[: len(self._tail) - self._half]

    def text(self) -> str:
        """What was kept, as :func:`grader.plain.text` makes it, with a note of how much was left out in the middle.

        Undecodable bytes are replaced. Without the note it is at most ``output_kb`` KiB of UTF-8, whatever was printed:
        replaced and escaped bytes take up to four times their room, and count as what they have become.
        """
        half = self._half
        cut = self.total - len(self._head) - len(self._tail)
        if cut:
            head, tail = _shown(self._head), _shown(self._tail)
        else:
            whole = _shown(self._head + self._tail)
            head, tail = whole[:half], whole[half:]
            if len(tail) <= half:
                return whole.decode("utf-8")
        over = [max(0, len(part) - half) for part in (head, tail)]
        note = f"\n… {cut + sum(over)} bytes left out …\n"
        return head[:half].decode("utf-8", "ignore") + note + tail[over[1] :].decode("utf-8", "ignore")


def _shown(printed: bytearray) -> bytes:
    return plain.text(printed.decode("utf-8", "replace")).encode("utf-8")
