"""A student's module in memory: its source executed statement by statement, and the calls into it.

Used by the worker (graded runs) and by the in-process handle (at home), so that both observe the same. Nothing
here is secret, and nothing it reports is believed.
"""

from __future__ import annotations

import __future__ as futures
import ast
import linecache
import random
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch

__all__ = ["StudentModule", "fault_of"]

MESSAGE_LIMIT = 2000
COMPILER_FLAGS = sum(getattr(futures, name).compiler_flag for name in futures.all_feature_names)


def fault_of(error: BaseException, file: str) -> dict[str, Any]:
    """What can be told of an exception: type names (most special first), text, and the line in ``file``."""
    try:
        text = str(error)[:MESSAGE_LIMIT]
    except Exception as second:  # a student's __str__ may raise too
        text = f"<its text cannot be shown: {type(second).__name__}>"
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    names = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
    return {"name": type(error).__name__, "builtins": names, "text": text, "line": line}


class StudentModule:
    """The namespace of one submission. ``faults`` are the top-level statements that raised."""

    def __init__(self, source: str, file: str) -> None:
        """Parse ``source``. Raises SyntaxError; nothing is executed yet."""
        self.file = file
        self.module = types.ModuleType(file.removesuffix(".py"))
        self.module.__file__ = file
        self.faults: list[dict[str, Any]] = []
        self.scenarios: types.ModuleType | None = None
        tree = ast.parse(source, file)
        self.statements = tree.body
        self.module.__doc__ = ast.get_docstring(tree, clean=False)
        self.flags = 0
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        sys.modules[self.module.__name__] = self.module  # dataclasses and pickling look their module up

    def execute(self, indices: Iterable[int]) -> None:
        """Execute top-level statements by index. One that raises is noted in ``faults`` and the rest goes on."""
        for index in indices:
            statement = self.statements[index]
            try:
                tree = ast.Module([statement], [])
                code = compile(tree, self.file, "exec", flags=self.flags, dont_inherit=True)
                self.flags |= code.co_flags & COMPILER_FLAGS
                exec(code, self.module.__dict__)
            except BaseException as error:  # SystemExit too: quitting at import is a fault like any other
                self.faults.append(fault_of(error, self.file) | {"line": statement.lineno})

    def function(self, name: str) -> Callable[..., Any]:
        """The student's function of that name. Raises LookupError with a sentence if there is none."""
        found = getattr(self.module, name, None)
        if not callable(found):
            raise LookupError(name)
        return found  # type: ignore[no-any-return]

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``name(*args, **kwargs)``."""
        return self.function(name)(*args, **kwargs)

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
        return value.detach(), torch.autograd.grad(value, leaves, seed, allow_unused=True)

    def hvp(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: int, vector: Any) -> tuple[Any, Any]:
        """Gradient of ``value.sum()`` for argument ``wrt`` and its Hessian times ``vector``; None: no graph."""
        args, (leaf,) = _leaves(args, (wrt,))
        value = self.function(name)(*args, **kwargs)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return None, None
        (gradient,) = torch.autograd.grad(value.sum(), [leaf], create_graph=True, allow_unused=True)
        if gradient is None or not gradient.requires_grad:
            return gradient, None
        seed = torch.ones_like(gradient) if vector is None else vector
        (product,) = torch.autograd.grad(gradient, [leaf], seed, allow_unused=True)
        return gradient.detach(), product

    def play(self, source: str, name: str, params: dict[str, Any]) -> Any:
        """Function ``name`` of the scenarios in ``source``, beside this module: ``name(module, **params)``."""
        if self.scenarios is None:
            self.scenarios = types.ModuleType("scenarios")
            exec(compile(source, "scenarios.py", "exec", dont_inherit=True), self.scenarios.__dict__)
        return getattr(self.scenarios, name)(self.module, **params)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Serve one request; whatever the student's code raises becomes data."""
        # Code that draws at random answers alike whenever and wherever it is asked. torch.manual_seed would go
        # through every accelerator's seeding, 0.2 ms a call.
        torch.default_generator.manual_seed(0)
        random.seed(0)
        name, args, kwargs = request["name"], request.get("args", ()), request.get("kwargs", {})
        try:
            match request["op"]:
                case "call":
                    value = self.call(name, args, kwargs)
                case "vjp":
                    value = self.vjp(name, args, kwargs, request["wrt"], request["cotangent"])
                case "hvp":
                    value = self.hvp(name, args, kwargs, request["wrt"], request["vector"])
                case "play":
                    value = self.play(request["source"], name, kwargs)
            return {"value": value}
        except LookupError as error:
            if error.args == (name,) and not callable(getattr(self.module, name, None)):
                return {"missing": name}
            return {"raised": fault_of(error, self.file)}
        except BaseException as error:
            return {"raised": fault_of(error, self.file)}


def _leaves(args: tuple[Any, ...], wrt: tuple[int, ...]) -> tuple[tuple[Any, ...], list[torch.Tensor]]:
    """The arguments with those at ``wrt`` as differentiable leaves that keep strides and storage layout."""
    leaves = {index: args[index].detach().requires_grad_() for index in wrt}
    return tuple(leaves.get(index, value) for index, value in enumerate(args)), [leaves[index] for index in wrt]
