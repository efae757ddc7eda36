"""The ``reference`` fixture: an assignment's trusted truth, computed once and shared by all submissions.

``Reference`` calls the functions of ``reference.py``; ``RecordedReference`` answers from ``expected.json``, so that
students need neither reference.py nor mpmath. Both are keyed by function name and the content of the arguments.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader import wire
from grader.errors import SpecError

__all__ = ["PUBLIC_SEED", "RecordedReference", "Reference", "SharedInputChanged", "load_module"]

PUBLIC_SEED = b"public"


class SharedInputChanged(Exception):  # noqa: N818 - it is our fault, whatever it is called
    """A check changed a tensor that all submissions share: our fault."""


def _key(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return f"{name}:{hashlib.sha256(wire.pack({'args': args, 'kwargs': kwargs})).hexdigest()}"


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


class Reference:
    """``reference.f(*args)`` is ``f(*args)`` of the module, memoised.

    A function whose first parameter is called ``rng`` gets a torch.Generator seeded from ``seed``, its name and its
    arguments. Results are shared: :meth:`verify` raises SharedInputChanged once one was written to.
    """

    def __init__(self, module: ModuleType, seed: bytes) -> None:
        self._module = module
        self._seed = seed
        self._memo: dict[str, Any] = {}
        self._used: list[tuple[torch.Tensor, int]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            key = _key(name, args, kwargs)
            if key not in self._memo:
                if next(iter(inspect.signature(function).parameters), None) == "rng":
                    digest = hmac.digest(self._seed, key.encode(), "sha256")
                    rng = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
                    self._memo[key] = function(rng, *args, **kwargs)
                else:
                    self._memo[key] = function(*args, **kwargs)
            value = self._memo[key]
            self._used += [(tensor, tensor._version) for tensor in _tensors(value)]
            return value

        return call

    def verify(self) -> None:
        """Called after each check. Raises SharedInputChanged if a shared tensor was written to since the last time."""
        used, self._used = self._used, []
        if any(tensor._version != version for tensor, version in used):
            self._memo.clear()
            raise SharedInputChanged("a tensor from `reference` was changed in place; all submissions share it")

    def recorded(self) -> dict[str, str]:
        """Everything computed so far, as text for expected.json."""
        return {key: base64.b64encode(wire.pack({"value": value})).decode() for key, value in self._memo.items()}


class RecordedReference:
    """Answers with what :meth:`Reference.recorded` wrote. A fresh copy each time: at home nothing is shared."""

    def __init__(self, recorded: dict[str, str]) -> None:
        self._recorded = recorded

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            key = _key(name, args, kwargs)
            if key not in self._recorded:
                raise LookupError(
                    f"expected.json has no answer for this call of `reference.{name}`; was a check changed?"
                )
            return wire.unpack_frame(base64.b64decode(self._recorded[key]))["value"]

        return call

    def verify(self) -> None:
        """Nothing is shared at home."""


def load_module(path: Path, name: str = "reference") -> ModuleType:
    """The assignment's reference.py (or another trusted file) as a module; empty if there is none. It is executed here.

    Raises SpecError with the reason if it cannot be loaded.
    """
    module = ModuleType(name)
    if path.exists():
        module.__file__ = str(path)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - trusted
        except Exception as error:
            raise SpecError([f"{path} cannot be loaded: {type(error).__name__}: {error}"]) from error
    return module
