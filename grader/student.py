"""A student's module in memory: its source executed statement by statement, and the calls into it.

Used by the worker (graded runs) and by the in-process handle (at home), so that both observe the same. Nothing
here is secret, and nothing it reports is believed.
"""

from __future__ import annotations
import __future__ as futures

import ast
import builtins
import linecache
import random
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

import torch

from grader.guard import Guard

__all__ = ["StudentModule", "fault_of"]

MESSAGE_LIMIT = 2000
FAULTS_KEPT = 20  # the first one explains most of the others, and so many always fit into one frame
COMPILER_FLAGS = sum(getattr(futures, name).compiler_flag for name in futures.all_feature_names)
TAKEN = frozenset(sys.modules) | sys.stdlib_module_names  # a submission may be called torch.py


class _MissingError(Exception):
    """The submission has no function of that name."""


def fault_of(error: BaseException, file: str) -> dict[str, Any]:
    """What can be told of an exception: type names (most special first), text, and the line in ``file``."""
    try:
        # Whatever __str__ gives, this is a plain string that can be sent: no subclass, no lone surrogates.
        text = str.encode(str(error), "utf-8", "backslashreplace").decode("utf-8")[:MESSAGE_LIMIT]
    except BaseException as second:  # noqa: BLE001 - a student's __str__ may raise too, or exit
        text = f"<its text cannot be shown: {type(second).__name__}>"
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    names = [base.__name__ for base in type(error).__mro__ if vars(builtins).get(base.__name__) is base]
    return {"name": type(error).__name__, "builtins": names, "text": text, "line": line}


class StudentModule:
    """The namespace of one submission. ``faults`` are the top-level statements that raised, the first few of them."""

    def __init__(self, source: str, file: str) -> None:
        """Parse ``source``. Raises SyntaxError; nothing is executed yet."""
        self.file = file
        name = PurePath(file).stem
        self.module = types.ModuleType(f"student_{name}" if name in TAKEN else name)
        self.module.__file__ = file
        self.faults: list[dict[str, Any]] = []
        self.scenarios: types.ModuleType | None = None
        self.guard = Guard()
        tree = ast.parse(source, file)
        self.statements = tree.body
        self.module.__doc__ = ast.get_docstring(tree, clean=False)
        self.flags = 0
        self.lines = source.splitlines(keepends=True)

    @classmethod
    def around(cls, module: types.ModuleType) -> StudentModule:
        """A module that lives already, such as a notebook's: its functions are called, and nothing is executed."""
        wrapped = cls("", "")
        wrapped.module = module
        return wrapped

    def execute(self, indices: Iterable[int]) -> None:
        """Execute top-level statements by index. One that raises is noted in ``faults`` and the rest goes on."""
        linecache.cache[self.file] = (sum(map(len, self.lines)), None, self.lines, self.file)
        sys.modules[self.module.__name__] = self.module  # dataclasses and pickling look their module up
        for index in indices:
            statement = self.statements[index]
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # alone, a string would become the module's docstring
            try:
                tree = ast.Module([statement], [])
                code = compile(tree, self.file, "exec", flags=self.flags, dont_inherit=True)
                self.flags |= code.co_flags & COMPILER_FLAGS
                exec(code, self.module.__dict__)  # noqa: S102 - this is what a worker is for
            except BaseException as error:  # noqa: BLE001 - SystemExit too: quitting at import is a fault like any other
                if len(self.faults) < FAULTS_KEPT:
                    self.faults.append(fault_of(error, self.file) | {"line": statement.lineno})

    def function(self, name: str) -> Callable[..., Any]:
        """The student's function of that name; :meth:`answer` says ``missing`` if there is none."""
        found = getattr(self.module, name, None)
        if not callable(found):
            raise _MissingError
        return found  # type: ignore[no-any-return]

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``name(*args, **kwargs)``."""
        return self.function(name)(*args, **kwargs)

    def with_inputs(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """``name(*args, **kwargs)``, and the arguments as they are after it."""
        value = self.function(name)(*args, **kwargs)
        return value, args

    def vjp(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: tuple[int, ...], cotangent: Any
    ) -> tuple[Any, Any]:
        """Value and the gradients of ``(value * cotangent).sum()`` for the arguments at ``wrt``; None: no graph."""
        args, leaves = _leaves(args, wrt)
        value = self.function(name)(*args, **kwargs)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value, tuple(None for _ in wrt)
        if cotangent is not None and cotangent.shape != value.shape:
            return value.detach(), tuple(None for _ in wrt)  # the check says what is wrong with the value
        seed = torch.ones_like(value) if cotangent is None else cotangent.to(value.dtype)
        return value.detach(), _gradients(value, leaves, seed)

    def hvp(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: int, vector: Any) -> tuple[Any, Any]:
        """Gradient of ``value.sum()`` for argument ``wrt`` and its Hessian times ``vector``; None: no graph."""
        args, (leaf,) = _leaves(args, (wrt,))
        value = self.function(name)(*args, **kwargs)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return None, None
        (gradient,) = _gradients(value.sum(), [leaf], None, graph=True)
        if gradient is None or not gradient.requires_grad:
            return gradient, None
        seed = torch.ones_like(gradient) if vector is None else vector
        (product,) = _gradients(gradient, [leaf], seed)
        return gradient.detach(), product

    def play(self, source: str, name: str, params: dict[str, Any]) -> Any:
        """Function ``name`` of the scenarios in ``source``, beside this module: ``name(module, **params)``."""
        if self.scenarios is None:
            scenarios = types.ModuleType("scenarios")
            sys.modules["scenarios"] = scenarios  # as above, for its own dataclasses
            exec(compile(source, "scenarios.py", "exec", dont_inherit=True), scenarios.__dict__)  # noqa: S102 - trusted
            self.scenarios = scenarios
        return getattr(self.scenarios, name)(self.module, **params)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Serve one request; whatever the student's code raises becomes data."""
        # Code that draws at random answers alike whenever and wherever it is asked. torch.manual_seed would go
        # through every accelerator's seeding, 0.2 ms a call.
        torch.default_generator.manual_seed(0)
        random.seed(0)
        name, args, kwargs = request["name"], request.get("args", ()), request.get("kwargs", {})
        self.guard.raise_for(request.get("forbidden", ()))
        self.guard.seen.clear()
        reply = self._serve(request, name, args, kwargs)
        # Even if what was raised there has been caught: whoever falls back on something else has tried.
        return reply | {"forbidden": sorted(self.guard.seen)} if self.guard.seen else reply

    def _serve(
        self, request: dict[str, Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            match request["op"]:
                case "call":
                    value = self.call(name, args, kwargs)
                case "vjp":
                    value = self.vjp(name, args, kwargs, request["wrt"], request["cotangent"])
                case "hvp":
                    value = self.hvp(name, args, kwargs, request["wrt"], request["vector"])
                case "with_inputs":
                    value = self.with_inputs(name, args, kwargs)
                case "play":
                    value = self.play(request["source"], name, kwargs)
            return {"value": value}
        except _MissingError:
            return {"missing": name}
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is an answer
            return {"raised": fault_of(error, self.file)}


def _leaves(args: tuple[Any, ...], wrt: tuple[int, ...]) -> tuple[tuple[Any, ...], list[torch.Tensor]]:
    """The arguments with those at ``wrt`` as differentiable leaves that keep strides and storage layout."""
    leaves = {index: args[index].detach().requires_grad_() for index in wrt}
    return tuple(leaves.get(index, value) for index, value in enumerate(args)), [leaves[index] for index in wrt]


def _gradients(
    value: torch.Tensor, leaves: list[torch.Tensor], seed: torch.Tensor | None, *, graph: bool = False
) -> tuple[torch.Tensor | None, ...]:
    return torch.autograd.grad(value, leaves, seed, create_graph=graph, allow_unused=True)
