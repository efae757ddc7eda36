"""Ten checks of `scale`."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close
from grader.handle import Handle
from grader.reference import Reference

EXACT = "every operation on multiples of 1/64 is exact"


@pytest.mark.check("scale")
def test_scale_0(student: Handle, reference: Reference) -> None:
    """Scale of 1 numbers"""
    x = reference.numbers(1)
    close(student.scale(x, 0.5), reference.scale(x, 0.5), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_1(student: Handle, reference: Reference) -> None:
    """Scale of 4 numbers"""
    x = reference.numbers(4)
    close(student.scale(x, 2.0), reference.scale(x, 2.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_2(student: Handle, reference: Reference) -> None:
    """Scale of 7 numbers"""
    x = reference.numbers(7)
    close(student.scale(x, -1.0), reference.scale(x, -1.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_3(student: Handle, reference: Reference) -> None:
    """Scale of 10 numbers"""
    x = reference.numbers(10)
    close(student.scale(x, 0.25), reference.scale(x, 0.25), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_4(student: Handle, reference: Reference) -> None:
    """Scale of 13 numbers"""
    x = reference.numbers(13)
    close(student.scale(x, 4.0), reference.scale(x, 4.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_5(student: Handle, reference: Reference) -> None:
    """Scale of 16 numbers"""
    x = reference.numbers(16)
    close(student.scale(x, -0.5), reference.scale(x, -0.5), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_6(student: Handle, reference: Reference) -> None:
    """Scale of 19 numbers"""
    x = reference.numbers(19)
    close(student.scale(x, 1.0), reference.scale(x, 1.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_7(student: Handle, reference: Reference) -> None:
    """Scale of 22 numbers"""
    x = reference.numbers(22)
    close(student.scale(x, 8.0), reference.scale(x, 8.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_8(student: Handle, reference: Reference) -> None:
    """Scale of 25 numbers"""
    x = reference.numbers(25)
    close(student.scale(x, -2.0), reference.scale(x, -2.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("scale")
def test_scale_9(student: Handle, reference: Reference) -> None:
    """Scale of 28 numbers"""
    x = reference.numbers(28)
    close(student.scale(x, 0.125), reference.scale(x, 0.125), dtype=torch.float32, limit=0, reason=EXACT)
