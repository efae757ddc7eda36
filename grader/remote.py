"""The handle of graded runs: a submission in a worker process, which is started, loaded and replaced as needed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import torch

from grader import plain, wire
from grader.channel import Channel, Closed, DeadlineMissed
from grader.handle import DETAIL_LIMIT, NOTHING, Handle
from grader.isolation import WorkerProcess, Zygote
from grader.model import LOADS, CheckFailure, Evidence, Limits
from grader.output import Flooded, Output
from grader.student import FAULTS_KEPT

__all__ = ["RemoteHandle", "WorkerLost"]

LOAD_ATTEMPTS = 4  # top-level statements that hang or crash are left out one by one, up to three of them


class WorkerLost(CheckFailure):
    """The worker hung, died or spoke nonsense during this call; the check is over and the worker gone."""


class RemoteHandle(Handle):
    """Asks a worker of ``zygote``, which it starts, loads and replaces as needed.

    ``workers`` counts the workers used; ``served`` the checks that the present one has seen.
    """

    def __init__(
        self,
        zygote: Zygote,
        source: str,
        file: str,
        limits: Limits,
        scenarios: str | None = None,
        forbidden: Mapping[str, Sequence[str]] = NOTHING,
    ) -> None:
        super().__init__(source, file, scenarios, forbidden)
        self.workers = 0
        self.served: set[str] = set()
        self.output = Output(limits)
        self._zygote = zygote
        self._limits = limits
        self._worker: WorkerProcess | None = None
        self._left_out: set[int] = set()
        self._broken: Evidence | None = None  # the file as a whole cannot be used
        self._timeouts: dict[str, int] = {}  # by exercise
        self._used: dict[str, float] = {}  # seconds by exercise
        self._loading = LOADS * limits.load_s  # seconds left for loading, over all workers

    def fresh(self) -> None:
        """The next call goes to a new worker."""
        if self._worker is not None:
            self._end()

    close = fresh

    def _end(self) -> str:
        """End the worker; how it had ended, in words."""
        worker, self._worker = self._worker, None
        assert worker is not None
        self.served = set()
        self.output.finish(worker.output)
        return str(worker.end())

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """See Handle.request. Raises WorkerLost when the worker hangs, dies or breaks the protocol."""
        if self._worker is None and self._broken is None:
            self._load()
        if self._broken is not None:
            raise CheckFailure(self._broken)
        self.served.add(self._check)
        self.last_call = (message["name"], message["args"], message["kwargs"])
        start = time.monotonic()
        try:
            return self._exchange(message, self._seconds(), f"`{message['name']}`")
        except WorkerLost as lost:
            if lost.kind == "timeout":
                self._timeouts[self._exercise] = self._timeouts.get(self._exercise, 0) + 1
            raise
        finally:
            self._used[self._exercise] = self._used.get(self._exercise, 0.0) + time.monotonic() - start

    def _seconds(self) -> float:
        """What the next call may take. Raises CheckFailure once the exercise has used up its time."""
        left = self._limits.exercise_s - self._used.get(self._exercise, 0.0)
        if left <= 0:
            message = f"`{self._exercise}` has used up the {self._limits.exercise_s:g} s that an exercise has"
            raise CheckFailure(Evidence(kind="timeout", message=message))
        late = self._timeouts.get(self._exercise, 0) >= self._limits.timeouts
        return min(left, self._limits.late_call_s if late else self._limits.call_s)

    def _exchange(self, message: dict[str, Any], seconds: float, what: str) -> dict[str, Any]:
        worker = self._worker
        assert worker is not None
        channel = Channel(worker.sock, trusted=True)
        deadline = time.monotonic() + seconds
        nonce = secrets.token_hex(16)
        try:
            channel.send(message | {"nonce": nonce}, seconds)
            reply = channel.receive_before(deadline, lambda: self.output.drain(worker.output), worker.output)
            if reply.pop("nonce", None) != nonce:
                raise wire.ProtocolError("an answer came to a question that was not asked")
            return reply
        except DeadlineMissed:
            self._lose("timeout", f"{what} did not finish within {seconds:g} s")
        except Closed:
            self._lose("crash", f"{what} ended the whole process")
        except Flooded:
            self._lose("output", f"{what} printed more than {self._limits.output_kill_mb} MiB")
        except wire.ProtocolError as error:
            if channel.sent:
                self._lose("protocol", f"{what} answered in a way that is not allowed", str(error))
            raise  # the check asked for something that cannot be sent: not the student's fault

    def _lose(self, kind: str, message: str, detail: str = "") -> NoReturn:
        exit_ = self._end()
        if kind == "crash":
            message += f" (it {exit_})"
        raise WorkerLost(Evidence(kind=kind, message=message, detail=plain.text(detail)))

    def _load(self) -> None:
        """Start a worker and execute the file in it; a statement that hangs or crashes is found and left out."""
        try:
            for _ in range(LOAD_ATTEMPTS):
                lines = self._open()
                indices = [index for index in range(len(lines)) if index not in self._left_out]
                try:
                    self._execute(indices)
                    return
                except WorkerLost as lost:
                    why = lost.evidence
                    self._find_culprit(indices, lines)
        except WorkerLost as lost:  # before anything of the file was executed, or while the culprit was sought
            why = lost.evidence
        if self.losses:
            found = f"{len(self.losses)} of its statements hang or end the process"
        else:
            found = f"it takes longer than {self._limits.load_s:g} s" if why.kind == "timeout" else why.message
        self.fresh()
        self._broken = Evidence(kind="load", message=f"{self._file} cannot be loaded: {found}", detail=why.detail)

    def _timed(self, message: dict[str, Any]) -> dict[str, Any]:
        """One exchange on the account of loading."""
        if self._loading <= 0:
            self._lose("timeout", f"all its workers together took longer than {LOADS * self._limits.load_s:g} s")
        start = time.monotonic()
        try:
            return self._exchange(message, min(self._limits.load_s, self._loading), "executing it")
        finally:
            self._loading -= time.monotonic() - start

    def _open(self) -> list[int]:
        """A new worker with the file parsed; the line of each top-level statement. Raises WorkerLost."""
        self._worker = self._zygote.fork()
        self.workers += 1
        self.output.begin()
        data = bytearray(self._source.encode())  # as a tensor, because a header cannot hold 1 MiB
        source = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
        reply = self._timed({"op": "open", "source": source, "file": self._file})
        lines = reply.get("lines")
        if not isinstance(lines, torch.Tensor) or lines.dtype != torch.int32 or lines.dim() != 1:
            self._lose("load", "it cannot be compiled", str(reply)[:DETAIL_LIMIT])
        return [int(line) for line in lines.tolist()]

    def _execute(self, indices: Iterable[int]) -> None:
        told = self._timed({"op": "execute", "indices": torch.tensor(list(indices), dtype=torch.int32)}).get("faults")
        faults = told if isinstance(told, list) else []
        known = [fault for fault in faults if isinstance(fault, dict) and self._line(fault.get("line"))]
        self.faults = known[:FAULTS_KEPT]

    def _find_culprit(self, indices: list[int], lines: list[int]) -> None:
        """Execute one statement at a time until one of them loses the worker; that one is left out from now on."""
        self._open()
        for index in indices:
            try:
                self._execute([index])
            except WorkerLost as lost:
                if self._loading <= 0:
                    raise
                self._left_out.add(index)
                self.losses.append({"line": self._line(lines[index]), "name": lost.kind, "builtins": []})
                return
        self.fresh()  # it went well this time: try the whole once more
