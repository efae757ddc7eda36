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
from grader.model import LOADS, CheckFailure, Evidence, Limits
from grader.output import Flooded, Output
from grader.student import FAULTS_KEPT, StudentModule, fault_of

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
        types = types if isinstance(types, tuple) else (types,)
        names = [kind.__name__ for kind in types]
        if not set(names) <= EXCEPTIONS:
            raise TypeError("a check can only ask for exceptions of Python's own: others do not cross the wire")
        wanted = " or ".join(names)
        reply = self._handle.request("call", self._name, args, kwargs)
        if "value" in reply:
            fail(f"`{self._name}` returned a value where it should raise {wanted}", "no_error")
        match reply:
            case {"raised": {"builtins": list(raised)}} if "NotImplementedError" not in raised:
                # The most special of Python's own: a class that inherits from all of them has kept one promise only.
                own = getattr(python, exception_word(raised), None)
                right = isinstance(own, type) and issubclass(own, types)
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
        self.notes: tuple[str, ...] = ()  # what was noticed while reading and loading, for the student
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
        self._timeouts: dict[str, int] = {}  # by exercise
        self._used: dict[str, float] = {}  # seconds by exercise
        self._loading = LOADS * limits.load_s  # seconds left for loading, over all workers

    def begin(self, check: str, exercise: str) -> None:
        """See Handle.begin."""
        self._check, self._exercise = check, exercise
        self.last_call = None

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

    def request(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """See Handle.request. Raises WorkerLost when the worker hangs, dies or breaks the protocol."""
        if self._worker is None and self._broken is None:
            self._load()
        if self._broken is not None:
            raise CheckFailure(self._broken)
        self.served.add(self._check)
        self.last_call = (name, args, kwargs)
        message = {"op": op, "name": name, "args": args, "kwargs": kwargs, **more}
        start = time.monotonic()
        try:
            return self._exchange(message, self._seconds(), f"`{name}`")
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
        raise WorkerLost(Evidence(kind=kind, message=message, detail=detail))

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
                self.losses.append({"line": lines[index], "name": lost.kind, "builtins": []})
                return
        self.fresh()  # it went well this time: try the whole once more
