"""What a submission prints: read as it comes, kept from both ends, bounded."""

from __future__ import annotations

import os

from grader.model import Limits

__all__ = ["Output"]


class Output:
    """Collects bytes from workers' pipes; keeps the head and the tail."""

    def __init__(self, limits: Limits) -> None:
        self._half = limits.output_kb * 1024 // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def drain(self, fd: int) -> None:
        """Take whatever can be read now from the non-blocking descriptor ``fd``."""
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        self.add(data)

    def add(self, data: bytes) -> None:
        """Take ``data`` as printed."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > self._half:
            del self._tail[: len(self._tail) - self._half]

    def text(self) -> str:
        """What was kept, undecodable bytes replaced, with a note of how much was cut in the middle."""
        cut = self.total - len(self._head) - len(self._tail)
        middle = f"\n… {cut} bytes left out …\n".encode() if cut else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", "replace")
