"""What a check holds of a student: call a function, differentiate it, play a scenario beside it.

:class:`grader.remote.RemoteHandle` asks a worker process, ``LocalHandle`` executes here (at home there is nothing to
hide from). Both send the same requests through the same encoding to the same :class:`grader.student.StudentModule`,
so a check sees the same values from both.
"""

from __future__ import annotations

import builtins as python
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import torch

from grader import wire
from grader.compare import fail
from grader.forbidden import forbidden_calls
from grader.student import StudentModule, fault_of

__all__ = ["DETAIL_LIMIT", "NOTHING", "Function", "Handle", "LocalHandle", "exception_word", "read_scenarios"]

EXCEPTIONS = frozenset(name for name in vars(python) if isinstance(getattr(python, name), type))

DETAIL_LIMIT = 4000  # characters: a class keeps one detail for each check
LINES_TOLD = 1000  # in messages: a file of 100,000 lines could spell a hidden input by the line at which it raises
NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
NO_GRADIENTS = "the answer is not a value with its gradients"  # only a worker that lies answers so
NO_INPUTS = "the answer is not a value with the arguments of its call"  # as above


def exception_word(builtins: object) -> str:
    """What a student may read of an exception: the first name in ``builtins`` that is one of Python's own types.

    Any other word would be the worker's, which could spell a hidden input in it.
    """
    names = builtins if isinstance(builtins, list) else []
    return next((name for name in names if isinstance(name, str) and name in EXCEPTIONS), "an exception")


def read_scenarios(folder: Path) -> str | None:
    """The text of ``scenarios.py`` in ``folder``; None without the file."""
    path = folder / "scenarios.py"
    return path.read_text(encoding="utf-8") if path.exists() else None


class Function:
    """One function of the student. ``student.f(x)``, ``student.f.vjp(x)`` and so on."""

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value of the call. Raises CheckFailure when the student's code raises."""
        return self._handle.ask("call", self._name, args, kwargs)

    def with_inputs(self, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
        """``(value, args)``: the positional arguments as they are after the call, which must leave them alone."""
        value, after = _pair(self._handle.ask("with_inputs", self._name, args, kwargs), NO_INPUTS)
        if type(after) is not tuple or len(after) != len(args):
            fail(NO_INPUTS, "type")
        return value, after

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


def _pair(reply: Any, otherwise: str = NO_GRADIENTS) -> tuple[Any, Any]:
    if type(reply) is not tuple or len(reply) != 2:
        fail(otherwise, "type")
    return reply[0], reply[1]


def _is_gradient(told: Any) -> bool:
    return told is None or type(told) is torch.Tensor


class Handle(ABC):
    """The functions of one submission, and what is known of its loading."""

    def __init__(self, source: str, file: str, scenarios: str | None, forbidden: Mapping[str, Sequence[str]]) -> None:
        self._source = source
        self._file = file
        self._scenarios = scenarios
        self.faults: list[dict[str, Any]] = []  # top-level statements that raised
        self.losses: list[dict[str, Any]] = []  # those that hung or ended the process, and were left out
        self.last_call: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None
        self._check = self._exercise = ""
        self._forbidden = forbidden
        self._written = forbidden_calls(source, forbidden)

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
                where = f" at line {line} of {self._file}" if line is not None and line < LINES_TOLD else ""
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

    def begin(self, check: str, exercise: str) -> None:
        """A check of ``exercise`` begins; what it calls is served under that exercise's limits and rules."""
        self._check, self._exercise = check, exercise
        self.last_call = None

    def request(self, op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The raw reply to one request. Raises CheckFailure if the exercise reaches for what it must do without."""
        if (call := self._written.get(self._exercise)) is not None:
            self._refuse(call.name, call.line)
        if names := self._forbidden.get(self._exercise):
            more["forbidden"] = tuple(names)
        reply = self._answer({"op": op, "name": name, "args": args, "kwargs": kwargs, **more})
        seen = reply.pop("forbidden", None)
        if isinstance(seen, list):
            for used in names or ():
                if used in seen:
                    self._refuse(used, None)
        return reply

    def _refuse(self, name: str, line: int | None) -> NoReturn:
        where = f" in line {line} of {self._file}" if line is not None else ", somewhere below the functions it calls"
        message = f"`{self._exercise}` uses the library's `{name}`{where}; this exercise is to do without it"
        fail(message, "forbidden", line=line)

    @abstractmethod
    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The raw reply to one message."""


class LocalHandle(Handle):
    """Executes the submission in this process, through the same encoding as a worker would."""

    def __init__(
        self,
        source: str,
        file: str,
        scenarios: str | None = None,
        forbidden: Mapping[str, Sequence[str]] = NOTHING,
    ) -> None:
        """Load the submission. Raises SyntaxError; KeyboardInterrupt passes through as in :meth:`request`."""
        super().__init__(source, file, scenarios, forbidden)
        self._module = StudentModule(source, file)
        self._module.execute(range(len(self._module.statements)))
        self.faults = self._module.faults
        self.notes: tuple[str, ...] = ()  # what was noticed while reading and loading, for the student
        if any("KeyboardInterrupt" in fault["builtins"] for fault in self.faults):
            raise KeyboardInterrupt

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """See Handle.request. KeyboardInterrupt passes through: at home it is the student who pressed it."""
        self.last_call = (message["name"], message["args"], message["kwargs"])
        answer = self._module.answer(_through_the_wire(message, reply=False))
        self._module.guard.raise_for(())  # checks and reference share this process, and may call what they like
        if "KeyboardInterrupt" in answer.get("raised", {}).get("builtins", ()):
            raise KeyboardInterrupt
        try:
            return _through_the_wire(answer, reply=True)
        except wire.ProtocolError as error:
            return {"unsendable": fault_of(error, self._file)["text"]}


def _through_the_wire(message: dict[str, Any], *, reply: bool) -> dict[str, Any]:
    return wire.unpack_frame(wire.pack(message, reply=reply), reply=reply)
