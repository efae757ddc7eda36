"""Ten checks of `square`."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close
from grader.handle import Handle
from grader.reference import Reference

EXACT = "every operation on multiples of 1/64 is exact"


@pytest.mark.check("square")
def test_square_0(student: Handle, reference: Reference) -> None:
    """Square of 1 numbers"""
    x = reference.numbers(1)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_1(student: Handle, reference: Reference) -> None:
    """Square of 4 numbers"""
    x = reference.numbers(4)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_2(student: Handle, reference: Reference) -> None:
    """Square of 7 numbers"""
    x = reference.numbers(7)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_3(student: Handle, reference: Reference) -> None:
    """Square of 10 numbers"""
    x = reference.numbers(10)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_4(student: Handle, reference: Reference) -> None:
    """Square of 13 numbers"""
    x = reference.numbers(13)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_5(student: Handle, reference: Reference) -> None:
    """Square of 16 numbers"""
    x = reference.numbers(16)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_6(student: Handle, reference: Reference) -> None:
    """Square of 19 numbers"""
    x = reference.numbers(19)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_7(student: Handle, reference: Reference) -> None:
    """Square of 22 numbers"""
    x = reference.numbers(22)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_8(student: Handle, reference: Reference) -> None:
    """Square of 25 numbers"""
    x = reference.numbers(25)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("square")
def test_square_9(student: Handle, reference: Reference) -> None:
    """Square of 28 numbers"""
    x = reference.numbers(28)
    close(student.square(x), reference.square(x), dtype=torch.float32, limit=0, reason=EXACT)
