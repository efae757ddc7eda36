"""The untrusted side: serves one submission over a socket until it is killed.

A worker is a fork of the zygote. It has never seen a hidden check, an expected value or another submission.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import Any

import torch

from grader.channel import Channel, Closed
from grader.student import StudentModule, fault_of
from grader.wire import ProtocolError

__all__ = ["serve"]


def serve(sock: socket.socket) -> None:
    """Answer requests until the trusted side hangs up. The first one must be ``open``."""
    channel = Channel(sock, trusted=False)
    module: StudentModule | None = None
    while True:
        try:
            request = channel.receive()
        except Closed:
            return
        if request["op"] == "open":
            source = bytes(request["source"].tolist()).decode()
            module, reply = _open(source, request["file"])
        elif module is None:
            reply = {"fault": "no submission was opened"}
        elif request["op"] == "execute":
            module.execute(request["indices"].tolist())
            reply = {"faults": module.faults}
        else:
            reply = module.answer(request)
        with contextlib.suppress(Exception):  # a submission may have put anything in its place, or closed it
            sys.stdout.flush()
        nonce = {"nonce": request["nonce"]}
        try:
            channel.send(reply | nonce)
        except ProtocolError as error:
            # The sentence names types, which can be called anything: bounded like any other exception's.
            channel.send({"unsendable": fault_of(error, "")["text"]} | nonce)


def _open(source: str, file: str) -> tuple[StudentModule | None, dict[str, Any]]:
    try:
        module = StudentModule(source, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, {"fault": fault_of(error, file)}
    return module, {"lines": torch.tensor([statement.lineno for statement in module.statements], dtype=torch.int32)}
