"""Frames over a stream socket, with one deadline for a whole reply however slowly it drips in."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from typing import Any

from grader import wire

__all__ = ["Channel", "Closed", "DeadlineMissed"]

CHUNK = 1 << 16  # larger ones would be mapped and unmapped by malloc at every call


class Closed(Exception):  # noqa: N818 - no error: this is how workers end
    """The other side is gone."""


class DeadlineMissed(Exception):  # noqa: N818 - it says more than an error would
    """No complete frame came in time."""


class Channel:
    """One side of a connection: ``send`` a message, ``receive`` the next one."""

    def __init__(self, sock: socket.socket, *, trusted: bool) -> None:
        """``trusted``: this is the grader's side, which may ask for anything and believes nothing."""
        self.sock = sock
        self.trusted = trusted
        self.buffer = bytearray()
        self.sent = False

    def send(self, message: dict[str, Any], timeout: float | None = None) -> None:
        """Send one message. Raises ProtocolError (nothing was sent), Closed or DeadlineMissed."""
        data = wire.pack(message, reply=not self.trusted)
        self.sock.settimeout(timeout)
        try:
            self.sock.sendall(data)
            self.sent = True
        except TimeoutError:
            raise DeadlineMissed from None
        except OSError:
            raise Closed from None

    def receive(self) -> dict[str, Any]:
        """The next message, waiting for ever (the worker's side). Raises Closed."""
        self.sock.settimeout(None)
        while (message := self._complete()) is None:
            self._more()
        return message

    def receive_before(self, deadline: float, drain: Callable[[], None], drain_fd: int) -> dict[str, Any]:
        """The next message if it is complete before ``deadline`` (time.monotonic); ProtocolError on anything odd.

        Whenever ``drain_fd`` has something to read, ``drain()`` is called, so that a chatty worker never blocks.
        """
        poller = select.poll()
        poller.register(self.sock, select.POLLIN)
        poller.register(drain_fd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DeadlineMissed
            for fd, events in poller.poll(left * 1000):
                if fd == drain_fd:
                    drain()
                    if not events & select.POLLIN:  # hung up: nothing more will come from there
                        poller.unregister(drain_fd)
                else:
                    self._more()
                    if (message := self._complete()) is not None:
                        if self.buffer:
                            raise wire.ProtocolError("more than one reply came back")
                        return message

    def _more(self) -> None:
        try:
            data = self.sock.recv(CHUNK)
        except OSError:
            raise Closed from None
        if not data:
            raise Closed
        self.buffer += data

    def _complete(self) -> dict[str, Any] | None:
        size = wire.HEAD.size
        if len(self.buffer) < size:
            return None
        header, body = wire.lengths(bytes(self.buffer[:size]))
        total = size + header + body
        if len(self.buffer) < total:
            return None
        frame, self.buffer = self.buffer[:total], self.buffer[total:]
        view = memoryview(frame)
        return wire.unpack(view[size : size + header], view[size + header :], reply=self.trusted)
