"""Ten checks of `total`."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close
from grader.handle import Handle
from grader.reference import Reference

EXACT = "every operation on multiples of 1/64 is exact"


@pytest.mark.check("total")
def test_total_0(student: Handle, reference: Reference) -> None:
    """Total of 1 numbers"""
    x = reference.numbers(1)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_1(student: Handle, reference: Reference) -> None:
    """Total of 4 numbers"""
    x = reference.numbers(4)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_2(student: Handle, reference: Reference) -> None:
    """Total of 7 numbers"""
    x = reference.numbers(7)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_3(student: Handle, reference: Reference) -> None:
    """Total of 10 numbers"""
    x = reference.numbers(10)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_4(student: Handle, reference: Reference) -> None:
    """Total of 13 numbers"""
    x = reference.numbers(13)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_5(student: Handle, reference: Reference) -> None:
    """Total of 16 numbers"""
    x = reference.numbers(16)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_6(student: Handle, reference: Reference) -> None:
    """Total of 19 numbers"""
    x = reference.numbers(19)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_7(student: Handle, reference: Reference) -> None:
    """Total of 22 numbers"""
    x = reference.numbers(22)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_8(student: Handle, reference: Reference) -> None:
    """Total of 25 numbers"""
    x = reference.numbers(25)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("total")
def test_total_9(student: Handle, reference: Reference) -> None:
    """Total of 28 numbers"""
    x = reference.numbers(28)
    close(student.total(x), reference.total(x), dtype=torch.float32, limit=0, reason=EXACT)
