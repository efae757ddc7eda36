"""A tiny but complete assignment, `halves`, for tests that need one on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FILES", "build"]

_TOML = """\
schema = 1
id = "halves"
title = "Halves and quarters"
file = "halves.py"

[limits]
call_s = 2.5

[exercises.half]
title = "Half of everything"
points = 2

[exercises.quarter]
title = "A quarter of everything"
points = 0.3

[checks."half/small"]
hints = ["Half of x is x times one half."]

[checks."half/random"]
points = 2
hints = ["Multiply.", "By what?", "By 0.5."]

[checks."quarter/huge"]
points = 0.3
"""

_PUBLIC = """\
\"""What students run at home.\"""

from __future__ import annotations

import pytest
import torch

from grader.compare import close


@pytest.mark.check("half")
def test_small(student, reference):
    \"""Half of 1, 2 and 3\"""
    x = torch.tensor([1.0, 2.0, 3.0])
    close(student.half(x), reference.half(x), dtype=x.dtype, limit=0.0, reason="halving is exact")
"""

_HIDDEN = """\
\"""What scores.\"""

from __future__ import annotations

import pytest
import torch

from grader.compare import close


@pytest.mark.check("half")
def test_random(student, reference):
    \"""Half of normal numbers\"""
    x = reference.normal(64)
    close(student.half(x), reference.half(x), dtype=x.dtype, limit=0.0, reason="halving is exact")


@pytest.mark.check("quarter", device="cpu")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_huge(student, reference, dtype):
    \"""A quarter of the largest number is finite\"""
    x = torch.tensor([torch.finfo(dtype).max], dtype=dtype)
    close(student.quarter(x), reference.quarter(x), dtype=dtype, limit=0.0, reason="quartering is exact")
"""

_REFERENCE = """\
\"""The truth, in float64.\"""

from __future__ import annotations

import torch


def normal(rng, n):
    return torch.randn(n, generator=rng)


def half(x):
    return x.double() / 2


def quarter(x):
    return x.double() / 4
"""

_SOLUTION = """\
\"""Halves and quarters.\"""

import torch


def half(x: torch.Tensor) -> torch.Tensor:
    \"""x / 2, in x's dtype.\"""
    ### BEGIN SOLUTION
    return x * 0.5
    ### END SOLUTION


def quarter(x: torch.Tensor) -> torch.Tensor:
    \"""x / 4, in x's dtype.\"""
    ### BEGIN SOLUTION
    return x * 0.25
    ### END SOLUTION
"""

# What a course with this one assignment holds, by path below the course.
FILES: Mapping[str, str] = {
    "assignments/halves/assignment.toml": _TOML,
    "assignments/halves/handout.md": "# Halves\n\nWrite `half` and `quarter`.\n",
    "assignments/halves/checks/public/test_small.py": _PUBLIC,
    "assignments/halves/checks/hidden/test_large.py": _HIDDEN,
    "assignments/halves/reference.py": _REFERENCE,
    "solutions/halves/halves.py": _SOLUTION,
}


def build(course: Path, overrides: Mapping[str, str | bytes | None] | None = None) -> Path:
    """Write the assignment into ``course`` and return its folder, ``course/assignments/halves``.

    ``overrides`` replaces or adds files, by the paths of `FILES`; None leaves a file out.
    """
    for name, content in {**FILES, **(overrides or {})}.items():
        if content is not None:
            path = course / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return course / "assignments" / "halves"
