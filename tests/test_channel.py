"""One deadline for a whole reply, and nothing but three exceptions, whatever the other side does."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.channel import Channel, Closed, DeadlineMissed
from grader.wire import ProtocolError, pack, unpack_frame

SHORT = 0.15  # seconds a test waits for something that must not come
LONG = 20.0  # never waited for, unless the machine is very busy


class Pair:
    """The grader's channel, the other end's bare socket, and a pipe for what a worker prints."""

    def __init__(self) -> None:
        mine, self.other = socket.socketpair()
        self.channel = Channel(mine, trusted=True)
        self.output, self.printer = os.pipe()
        self.drained = bytearray()

    def drain(self) -> None:
        """Read some of what was printed."""
        self.drained += os.read(self.output, 1 << 16)

    def reply(self, seconds: float = LONG) -> dict[str, Any]:
        """The next reply within ``seconds``."""
        return self.channel.receive_before(time.monotonic() + seconds, self.drain, self.output)

    def background(self, work: Callable[[], None]) -> threading.Thread:
        """``work`` in a thread; what it does to a closed socket or pipe does not matter."""

        def run() -> None:
            with contextlib.suppress(OSError):
                work()

        thread = threading.Thread(target=run)
        thread.start()
        return thread


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two connected ends."""
    made = Pair()
    yield made
    made.channel.sock.close()
    made.other.close()
    for descriptor in (made.output, made.printer):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_request_and_reply(pair: Pair) -> None:
    """A request reaches the worker's side with its strides, a reply comes back dense."""
    worker = Channel(pair.other, trusted=False)
    pair.channel.send({"x": torch.arange(6.0).view(2, 3).t()})
    got = worker.receive()["x"]
    assert (got.stride(), got.tolist()) == ((1, 3), [[0, 3], [1, 4], [2, 5]])
    worker.send({"value": got})
    back = pair.reply()["value"]
    assert back.is_contiguous()
    assert back.tolist() == got.tolist()


def test_requests_one_after_the_other(pair: Pair) -> None:
    """The worker's side takes requests apart that came in one piece."""
    worker = Channel(pair.other, trusted=False)
    for number in range(3):
        pair.channel.send({"n": number})
    assert [worker.receive()["n"] for _ in range(3)] == [0, 1, 2]


def test_large_replies(pair: Pair) -> None:
    """A reply of many megabytes, in as many pieces as the socket makes of it, arrives whole."""
    sent = torch.arange(2**20, dtype=torch.float64)
    thread = pair.background(lambda: Channel(pair.other, trusted=False).send({"value": sent}))
    assert torch.equal(pair.reply()["value"], sent)
    thread.join()


def test_a_reply_byte_by_byte(pair: Pair) -> None:
    """A reply may come in single bytes, as long as it is in time."""
    data = pack({"value": 7}, reply=True)

    def send() -> None:
        for byte in data:
            pair.other.sendall(bytes([byte]))

    thread = pair.background(send)
    assert pair.reply() == {"value": 7}
    thread.join()


def test_a_dripping_reply_misses_the_deadline(pair: Pair) -> None:
    """The deadline holds for the whole reply: sending a byte now and then does not put it off."""
    data = pack({"value": "x" * 1000}, reply=True)

    def drip() -> None:
        for byte in data:
            pair.other.sendall(bytes([byte]))
            time.sleep(SHORT / 10)

    thread = pair.background(drip)
    start = time.monotonic()
    with pytest.raises(DeadlineMissed):
        pair.reply(SHORT)
    assert SHORT <= time.monotonic() - start < 6 * SHORT
    pair.channel.sock.close()
    thread.join()


def test_silence_misses_the_deadline(pair: Pair) -> None:
    """Without any answer the deadline ends the wait, not before and not long after."""
    start = time.monotonic()
    with pytest.raises(DeadlineMissed):
        pair.reply(SHORT)
    assert SHORT <= time.monotonic() - start < 6 * SHORT


def test_a_deadline_in_the_past(pair: Pair) -> None:
    """A deadline that has passed is missed even if the answer is there."""
    pair.other.sendall(pack({"value": 1}, reply=True))
    with pytest.raises(DeadlineMissed):
        pair.reply(-1.0)


def test_printing_does_not_put_off_the_deadline(pair: Pair) -> None:
    """A worker that prints all the time is read, and still misses its deadline."""
    stop = threading.Event()

    def chatter() -> None:
        while not stop.is_set():
            os.write(pair.printer, b"x" * 4096)

    thread = pair.background(chatter)
    with pytest.raises(DeadlineMissed):
        pair.reply(SHORT)
    stop.set()
    os.close(pair.output)  # ends a write that waits
    thread.join()
    assert len(pair.drained) > 1 << 16


def test_printing_more_than_a_pipe_holds(pair: Pair) -> None:
    """What is printed before the answer is drained: a worker never waits for its reader."""

    def work() -> None:
        os.write(pair.printer, b"x" * (1 << 20))
        pair.other.sendall(pack({"value": 1}, reply=True))

    thread = pair.background(work)
    assert pair.reply() == {"value": 1}
    thread.join()
    assert len(pair.drained) > (1 << 20) - (1 << 17)  # the rest may still be in the pipe


def test_a_closed_output_is_left_alone(pair: Pair) -> None:
    """A worker may close its output: the wait goes on, without spinning, and the answer arrives."""
    os.close(pair.printer)
    timer = threading.Timer(SHORT, lambda: pair.other.sendall(pack({"value": 1}, reply=True)))
    timer.start()
    start = time.thread_time()
    assert pair.reply() == {"value": 1}
    assert time.thread_time() - start < SHORT / 2
    timer.join()


@pytest.mark.parametrize("before", [b"", b"NGR1", pack({"value": "x" * 100}, reply=True)[:-1]])
def test_a_side_that_hangs_up(pair: Pair, before: bytes) -> None:
    """The end of the other side, also in the middle of a frame, is Closed at once."""
    pair.other.sendall(before)
    pair.other.close()
    with pytest.raises(Closed):
        pair.reply()


def test_a_grader_that_hangs_up(pair: Pair) -> None:
    """The worker's side learns that the grader is gone."""
    pair.channel.sock.close()
    with pytest.raises(Closed):
        Channel(pair.other, trusted=False).receive()


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"NGR1" + (2**32 - 1).to_bytes(4, "little") + bytes(8),
        b"NGR1" + bytes(4) + (2**60).to_bytes(8, "little"),
        pack({"value": 1}, reply=True)[:-2] + b"}}",
        pack({"value": 1}, reply=True) * 2,
        pack({"value": 1}, reply=True) + b"x",
        pack({"value": torch.eye(2).t()[:1]}, reply=False),
        pack({"value": torch.ones(2, dtype=torch.complex64)}, reply=False),
    ],
    ids=["http", "header", "body", "json", "two", "rest", "strides", "complex"],
)
def test_odd_answers(pair: Pair, data: bytes) -> None:
    """Anything but exactly one well-formed reply is a ProtocolError, without waiting for the deadline."""
    pair.other.sendall(data)
    start = time.monotonic()
    with pytest.raises(ProtocolError):
        pair.reply()
    assert time.monotonic() - start < LONG / 2


def test_what_cannot_be_sent_is_not_sent(pair: Pair) -> None:
    """A message that cannot cross raises ProtocolError, and the line is still clean for the next one."""
    with pytest.raises(ProtocolError):
        pair.channel.send({"x": object()})
    sent = [pair.channel.sent]
    pair.channel.send({"x": 1})
    assert [*sent, pair.channel.sent] == [False, True]
    assert unpack_frame(pair.other.recv(1000)) == {"x": 1}


def test_workers_send_plain_data_only(pair: Pair) -> None:
    """The worker's side packs replies: what a reply may not hold is refused there."""
    with pytest.raises(ProtocolError, match="only dense"):
        Channel(pair.other, trusted=False).send({"value": torch.eye(2).to_sparse()})


def test_sending_to_nobody(pair: Pair) -> None:
    """A worker that has gone cannot be asked."""
    pair.other.close()
    with pytest.raises(Closed):
        pair.channel.send({"x": 1}, 1.0)
    assert not pair.channel.sent


def test_sending_to_a_worker_that_does_not_read(pair: Pair) -> None:
    """A request that does not go through in time is a missed deadline."""
    start = time.monotonic()
    with pytest.raises(DeadlineMissed):
        pair.channel.send({"x": torch.zeros(2**22)}, SHORT)
    assert SHORT <= time.monotonic() - start < 20 * SHORT


def test_no_descriptor_comes_over_the_wire(pair: Pair) -> None:
    """Descriptors that a worker sends along with its answer are dropped."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("descriptors are counted in /proc")
    before = len(list(folder.iterdir()))
    socket.send_fds(pair.other, [pack({"value": 1}, reply=True)], [pair.printer] * 50)
    assert pair.reply() == {"value": 1}
    assert len(list(folder.iterdir())) == before
