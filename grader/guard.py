"""Operators that must not run: while a guard is up, their kernels raise and are remembered.

Reading a file finds calls that are written down; this finds those that happen, under whatever name they were reached:
as a method, from `torch.ops` or `torch._C`, inside another function of the library. Every one of them comes down to
an operator of the dispatcher, and there, per operator and at no cost to any other, the kernel is replaced.

It runs beside the student's code and what it reports is an observation: it can withhold points, never earn any.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn import functional

__all__ = ["Guard", "operators"]

KEYS = (
    "CPU",
    "CUDA",
    "SparseCPU",
    "NestedTensorCPU",
    "MkldnnCPU",
)  # where a kernel of these operators may be looked up
# How the library spells the operator below a name: _softmax, special_logsumexp, cross_entropy_loss, nll_loss2d_forward
PREFIX = re.compile(r"_*(?:special_|safe_|sparse_|masked_|nested_tensor_)*")
SUFFIX = re.compile(r"(?:_loss)?(?:2d|_nd)?(?:_forward|_backward|_with_shape)?(?:_data)?_?")
ATTENTION = re.compile(
    r"_*scaled_dot_product_\w*attention\w*|_*(?:flash|efficient|native_multi_head)_attention\w*"
)  # a softmax inside


class ForbiddenOperatorError(RuntimeError):
    """Raised where the kernel would have run."""


@functools.cache
def _index() -> tuple[tuple[str, str], ...]:
    """(operator without prefix, operator with overload) of all operators of the library."""
    names = (name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    return tuple((PREFIX.sub("", name.partition(".")[0], count=1), name) for name in names)


@functools.cache
def operators(names: tuple[str, ...]) -> dict[str, str]:
    """Operator with overload → which of ``names`` it stands for, under every spelling that the library has for it."""
    found = {
        operator: name
        for name in names
        for plain, operator in _index()
        if plain.startswith(name) and SUFFIX.fullmatch(plain[len(name) :])
    }
    if "softmax" in names:
        found |= {operator: "softmax" for plain, operator in _index() if ATTENTION.fullmatch(plain)}
    return found


class Guard:
    """Replaces the kernels of some operators. ``seen``: the forbidden names that were reached since the last clear."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._names: tuple[str, ...] = ()
        self._covered: dict[str, Callable[..., Any]] = {}
        self._library: torch.library.Library | None = None

    def raise_for(self, names: Iterable[str]) -> None:
        """From now on exactly the operators behind ``names`` raise; none for no names."""
        names = tuple(names)
        if names == self._names:
            return
        if self._library is not None:
            self._library._destroy()  # the kernels from before are back
            self._library = None
        self._names = names
        self._cover(names)
        if names:
            self._library = torch.library.Library("aten", "IMPL")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a kernel is overridden is what we are here for
                for operator, name in operators(names).items():
                    for key in KEYS:
                        self._library.impl(operator, self._kernel(name), key)

    def _cover(self, names: Iterable[str]) -> None:
        """Names that stand for no operator are functions in Python, made of allowed ones: these raise themselves."""
        for name, original in self._covered.items():
            setattr(functional, name, original)
        reached = set(operators(tuple(names)).values())
        self._covered = {
            name: vars(functional)[name] for name in names if name not in reached and name in vars(functional)
        }
        for name in self._covered:
            setattr(functional, name, self._kernel(name))

    def _kernel(self, name: str) -> Callable[..., Any]:
        def kernel(*_: Any, **__: Any) -> Any:
            self.seen.add(name)
            raise ForbiddenOperatorError(f"{name} is forbidden in this exercise")

        return kernel
