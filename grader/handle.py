"""What a check holds of a student: call a function, differentiate it, play a scenario beside it.

``RemoteHandle`` asks a worker process, ``LocalHandle`` executes here (at home there is nothing to hide from). Both
send the same requests through the same encoding to the same :class:`grader.student.StudentModule`, so a check
sees the same values from both.
"""

from __future__ import annotations

import builtins as python
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NoReturn

import torch

from grader import wire
from grader.channel import Channel, Closed, DeadlineMissed
from grader.compare import fail
from grader.isolation import WorkerProcess, Zygote
from grader.model import CheckFailure, Evidence, Limits
from grader.output import Flooded, Output
from grader.student import StudentModule, fault_of

__all__ = ["Function", "Handle", "LocalHandle", "RemoteHandle", "WorkerLost", "exception_word"]

EXCEPTIONS = frozenset(name for name in vars(python) if isinstance(getattr(python, name), type))

LOAD_ATTEMPTS = 4  # top-level statements that hang or crash are left out one by one, up to three of them

DETAIL_LIMIT = 4000  # characters: a class keeps one detail for each check
NO_GRADIENTS = "the answer is not a value with its gradients"  # only a worker that lies answers so


def exception_word(builtins: object) -> str:
    """What a student may read of an exception: the first name in ``builtins`` that is one of Python's own types.

    Any other word would be the worker's, which could spell a hidden input in it.
    """
    names = builtins if isinstance(builtins, list) else []
    return next((name for name in names if isinstance(name, str) and name in EXCEPTIONS), "an exception")


class WorkerLost(CheckFailure):
    """The worker hung, died or spoke nonsense during this call; the check is over and the worker gone."""


class Function:
    """One function of the student. ``student.f(x)``, ``student.f.vjp(x)`` and so on."""

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value of the call. Raises CheckFailure when the student's code raises."""
        return self._handle.ask("call", self._name, args, kwargs)

    def vjp(
        self, *args: Any, wrt: tuple[int, ...] = (0,), cotangent: torch.Tensor | None = None, **kwargs: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        """``(value, gradients)``: gradients of ``(value * cotangent).sum()`` for the arguments at ``wrt``.

        A gradient is None where no graph leads back to the argument. ``cotangent`` defaults to ones.
        """
        reply = self._handle.ask("vjp", self._name, args, kwargs, wrt=tuple(wrt), cotangent=cotangent)
        value, gradients = _pair(reply)
        if type(gradients) is not tuple or len(gradients) != len(wrt) or not all(map(_is_gradient, gradients)):
            fail(NO_GRADIENTS, "type")
        return value, gradients

    def hvp(self, *args: Any, wrt: int = 0, vector: torch.Tensor | None = None, **kwargs: Any) -> tuple[Any, Any]:
        """``(gradient, Hessian @ vector)`` of ``value.sum()`` for argument ``wrt``; None where there is no graph."""
        reply = self._handle.ask("hvp", self._name, args, kwargs, wrt=wrt, vector=vector)
        gradient, product = _pair(reply)
        if not (_is_gradient(gradient) and _is_gradient(product)):
            fail(NO_GRADIENTS, "type")
        return gradient, product

    def raises(self, types: type[BaseException] | tuple[type[BaseException], ...], *args: Any, **kwargs: Any) -> None:
        """The call raises one of ``types`` (or a subclass), else CheckFailure.

        NotImplementedError never counts: it is what an unwritten stub raises, and it is a RuntimeError.
        """
        names = [kind.__name__ for kind in (types if isinstance(types, tuple) else (types,))]
        if not set(names) <= EXCEPTIONS:
            raise TypeError("a check can only ask for exceptions of Python's own: others do not cross the wire")
        wanted = " or ".join(names)
        reply = self._handle.request("call", self._name, args, kwargs)
        if "value" in reply:
            fail(f"`{self._name}` returned a value where it should raise {wanted}", "no_error")
        match reply:
            case {"raised": {"builtins": list(raised)}} if "NotImplementedError" not in raised:
                right = any(name in raised for name in names)
            case _:
                right = False
        if not right:
            self._handle.explain(self._name, reply, f" where it should raise {wanted}")


def _pair(reply: Any) -> tuple[Any, Any]:
    if type(reply) is not tuple or len(reply) != 2:
        fail(NO_GRADIENTS, "type")
    return reply[0], reply[1]


def _is_gradient(told: Any) -> bool:
    return told is None or type(told) is torch.Tensor


class Handle(ABC):
    """The functions of one submission, and what is known of its loading."""

    def __init__(self, source: str, file: str, scenarios: str | None) -> None:
        self._source = source
        self._file = file
        self._scenarios = scenarios
        self.faults: list[dict[str, Any]] = []  # top-level statements that raised
        self.losses: list[dict[str, Any]] = []  # those that hung or ended the process, and were left out
        self.last_call: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        return Function(self, name)

    def play(self, name: str, **params: Any) -> Any:
        """The result of the scenario function ``name(student, **params)``, executed beside the student's code."""
        if self._scenarios is None:
            raise RuntimeError("this assignment has no scenarios.py beside its checks")
        return self.ask("play", name, (), params, source=self._scenarios)

    def ask(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> Any:
        """The value that a request answers with. Raises CheckFailure for every other answer."""
        reply = self.request(op, name, args, kwargs, **more)
        if "value" in reply:
            return reply["value"]
        return self.explain(name, reply, "")

    def explain(self, name: str, reply: dict[str, Any], instead: str) -> Any:
        """Raise the CheckFailure for an answer that is no value."""
        match reply:
            case {"missing": str()}:
                faults = self.losses + self.faults
                why = f"; line {faults[0]['line']} failed when the file was loaded" if faults else ""
                fail(
                    f"{self._file} defines no function `{name}`{why}",
                    "missing",
                    detail=str(faults or "")[:DETAIL_LIMIT],
                )
            case {"raised": {"builtins": list(builtins), "text": str(text), "line": told, "name": str(own)}}:
                line = self._line(told)
                if "NotImplementedError" in builtins:
                    fail(f"`{name}` is not written yet: it raises NotImplementedError", "not_implemented", line=line)
                kind = exception_word(builtins)
                where = f" at line {line} of {self._file}" if line is not None else ""
                memory = kind == "MemoryError" or "can't allocate memory" in text
                fail(
                    f"`{name}` raised {kind}{instead}{where}",
                    "memory" if memory else "wrong_error" if instead else "raised",
                    detail=f"{own[:80]}: {text}"[:DETAIL_LIMIT],
                    line=line,
                )
            case {"unsendable": str(text)}:
                message = f"`{name}` returned something that is not plain data (tensors, numbers, text, lists)"
                fail(message, "type", detail=text[:DETAIL_LIMIT])
        fail("the worker's answer has an unknown form", "protocol")

    def _line(self, told: object) -> int | None:
        """``told`` if it is a line of the file: any other number could spell a hidden input."""
        return told if type(told) is int and 0 < told <= self._source.count("\n") + 1 else None

    @abstractmethod
    def request(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The raw reply to one request."""

    def begin(self, check: str, exercise: str) -> None:  # noqa: B027 - at home there is nothing to prepare
        """A check of ``exercise`` begins; what it calls is served under that exercise's limits."""


class LocalHandle(Handle):
    """Executes the submission in this process, through the same encoding as a worker would."""

    def __init__(self, source: str, file: str, scenarios: str | None = None) -> None:
        """Load the submission. Raises SyntaxError; KeyboardInterrupt passes through as in :meth:`request`."""
        super().__init__(source, file, scenarios)
        self._module = StudentModule(source, file)
        self._module.execute(range(len(self._module.statements)))
        self.faults = self._module.faults
        if any("KeyboardInterrupt" in fault["builtins"] for fault in self.faults):
            raise KeyboardInterrupt

    def request(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """See Handle.request. KeyboardInterrupt passes through: at home it is the student who pressed it."""
        self.last_call = (name, args, kwargs)
        question = _through_the_wire({"op": op, "name": name, "args": args, "kwargs": kwargs, **more}, reply=False)
        answer = self._module.answer(question)
        if "KeyboardInterrupt" in answer.get("raised", {}).get("builtins", ()):
            raise KeyboardInterrupt
        try:
            return _through_the_wire(answer, reply=True)
        except wire.ProtocolError as error:
            return {"unsendable": fault_of(error, self._file)["text"]}


def _through_the_wire(message: dict[str, Any], *, reply: bool) -> dict[str, Any]:
    return wire.unpack_frame(wire.pack(message, reply=reply), reply=reply)


class RemoteHandle(Handle):
    """Asks a worker of ``zygote``, which it starts, loads and replaces as needed.

    ``workers`` counts the workers used; ``served`` the checks that the present one has seen.
    """

    def __init__(self, zygote: Zygote, source: str, file: str, limits: Limits, scenarios: str | None = None) -> None:
        super().__init__(source, file, scenarios)
        self.workers = 0
        self.served: set[str] = set()
        self.output = Output(limits)
        self._zygote = zygote
        self._limits = limits
        self._worker: WorkerProcess | None = None
        self._left_out: set[int] = set()
        self._broken: Evidence | None = None  # the file as a whole cannot be used
        self._check = self._exercise = ""
        self._timeouts: dict[str, int] = {}

    def begin(self, check: str, exercise: str) -> None:
        """See Handle.begin."""
        self._check, self._exercise = check, exercise
        self.last_call = None

    def fresh(self) -> None:
        """The next call goes to a new worker."""
        if self._worker is not None:
            self.output.finish(self._worker.output)
            self._worker.end()
            self._worker = None
        self.served = set()

    close = fresh

    def request(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """See Handle.request. Raises WorkerLost when the worker hangs, dies or breaks the protocol."""
        if self._worker is None:
            self._load()
        if self._broken is not None:
            raise CheckFailure(self._broken)
        self.served.add(self._check)
        self.last_call = (name, args, kwargs)
        late = self._timeouts.get(self._exercise, 0) >= self._limits.timeouts
        seconds = self._limits.late_call_s if late else self._limits.call_s
        try:
            return self._exchange(
                {"op": op, "name": name, "args": args, "kwargs": kwargs, **more}, seconds, f"`{name}`"
            )
        except WorkerLost as lost:
            if lost.evidence.kind == "timeout":
                self._timeouts[self._exercise] = self._timeouts.get(self._exercise, 0) + 1
            raise

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
        assert self._worker is not None
        self.output.finish(self._worker.output)
        exit_ = self._worker.end()
        self._worker = None
        self.served = set()
        if kind == "crash":
            message += f" (it {exit_})"
        raise WorkerLost(Evidence(kind=kind, message=message, detail=detail))

    def _load(self) -> None:
        """Start a worker and execute the file in it; a statement that hangs or crashes is found and left out."""
        for _ in range(LOAD_ATTEMPTS):
            lines = self._open()
            if self._broken is not None:
                return
            indices = [index for index in range(len(lines)) if index not in self._left_out]
            try:
                self._execute(indices)
                return
            except WorkerLost:
                self._find_culprit(indices, lines)
        self._broken = Evidence(kind="load", message=f"{self._file} hangs or crashes when it is loaded")

    def _open(self) -> list[int]:
        """A new worker with the file parsed; the line of each top-level statement."""
        self._worker = self._zygote.fork()
        self.workers += 1
        self.output.begin()
        try:
            reply = self._exchange(
                {"op": "open", "source": self._source, "file": self._file}, self._limits.call_s, "loading"
            )
        except WorkerLost as lost:
            self._broken = lost.evidence
            return []
        lines = reply.get("lines")
        if not isinstance(lines, list) or not all(isinstance(line, int) for line in lines):
            self._broken = Evidence(
                kind="load", message=f"{self._file} cannot be compiled", detail=str(reply)[:DETAIL_LIMIT]
            )
            return []
        return lines

    def _execute(self, indices: Iterable[int]) -> None:
        reply = self._exchange({"op": "execute", "indices": list(indices)}, self._limits.call_s, "loading")
        told = reply.get("faults")
        faults = told if isinstance(told, list) else []
        self.faults = [fault for fault in faults if isinstance(fault, dict) and self._line(fault.get("line"))]

    def _find_culprit(self, indices: list[int], lines: list[int]) -> None:
        """Execute one statement at a time until one of them loses the worker; that one is left out from now on."""
        self._open()
        if self._broken is not None:
            return
        for index in indices:
            try:
                self._execute([index])
            except WorkerLost as lost:
                self._left_out.add(index)
                self.losses.append({"line": lines[index], "name": lost.evidence.kind, "builtins": []})
                return
        self.fresh()  # it went well this time: try the whole once more
