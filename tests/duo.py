"""A small assignment `duo` for attacks: `double`, and `lse`, which has to do without the library's logsumexp."""

from __future__ import annotations

from pathlib import Path

__all__ = ["HONEST", "duo"]

# A neighbour whose marks tell something: all points of one exercise, and evidence in the other.
HONEST = """\
import torch


def double(x):
    two = torch.full((1,), 2.0)
    return x * two if isinstance(x, torch.Tensor) else x * 2


def lse(x):
    return x.exp().sum(1).log() + 0.5
"""

_TOML = """\
schema = 1
id = "duo"
title = "Twice, and the logarithm of a sum"
file = "duo.py"

[limits]
call_s = 0.75
timeouts = 1
late_call_s = 0.3
load_s = 1.5
memory_mb = 256

[exercises.double]
title = "twice"
points = 2

[exercises.lse]
title = "logarithm of a sum of exponentials"
points = 1
forbidden = ["logsumexp", "logcumsumexp", "softmax", "log_softmax", "cross_entropy", "nll_loss", "logaddexp"]

[checks."double/first"]
hints = ["Once more."]

[checks."double/one"]
points = 1

[checks."double/many"]
points = 1

[checks."lse/rows"]
points = 1
"""

_HIDDEN = """\
import pytest
import torch

from grader.compare import close

CANARY = {canary}  # {token}


@pytest.mark.check("double")
def test_one(student, reference):
    \"""double of a few numbers\"""
    x = torch.cat([torch.tensor([float(CANARY)]), reference.numbers(2)])
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="doubling is exact")


@pytest.mark.check("double")
@pytest.mark.parametrize("n", [4096, 3])
def test_many(student, reference, n):
    \"""double of many numbers\"""
    x = reference.numbers(n)
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="doubling is exact")


@pytest.mark.check("lse")
def test_rows(student, reference):
    \"""lse of rows\"""
    x = reference.numbers(12).view(3, 4)
    close(student.lse(x), x.double().logsumexp(1), dtype=x.dtype, limit=8, scale=8.0, reason="a sum of four")
"""

_PUBLIC = """\
import pytest
import torch

from grader.compare import close


@pytest.mark.check("double")
def test_first(student, reference):
    \"""double of 1, 2, 3\"""
    x = torch.tensor([1.0, 2.0, 3.0])
    close(student.double(x), x.double() * 2, dtype=x.dtype, limit=0, reason="doubling is exact")
"""

_REFERENCE = """\
import torch


def numbers(rng, n):
    return torch.randint(2**19, 2**20, (n,), generator=rng).float() / 2**18
"""

_SOLVED = """\
import torch


def double(x):
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION


def lse(x):
    ### BEGIN SOLUTION
    return x.exp().sum(1).log()
    ### END SOLUTION
"""


def duo(root: Path, canary: int, token: str) -> Path:
    """Write it below the course folder ``root``. ``canary``: a hidden input; ``token`` stands in the hidden checks."""
    folder = root / "assignments" / "duo"
    for path, text in {
        folder / "assignment.toml": _TOML,
        folder / "checks" / "hidden" / "test_duo.py": _HIDDEN.format(canary=canary, token=token),
        folder / "checks" / "public" / "test_public.py": _PUBLIC,
        folder / "reference.py": _REFERENCE,
        root / "solutions" / "duo" / "duo.py": _SOLVED,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
