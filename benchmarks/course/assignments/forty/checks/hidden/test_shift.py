"""Ten checks of `shift`."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close
from grader.handle import Handle
from grader.reference import Reference

EXACT = "every operation on multiples of 1/64 is exact"


@pytest.mark.check("shift")
def test_shift_0(student: Handle, reference: Reference) -> None:
    """Shift of 1 numbers"""
    x = reference.numbers(1)
    close(student.shift(x, 0.5), reference.shift(x, 0.5), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_1(student: Handle, reference: Reference) -> None:
    """Shift of 4 numbers"""
    x = reference.numbers(4)
    close(student.shift(x, 2.0), reference.shift(x, 2.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_2(student: Handle, reference: Reference) -> None:
    """Shift of 7 numbers"""
    x = reference.numbers(7)
    close(student.shift(x, -1.0), reference.shift(x, -1.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_3(student: Handle, reference: Reference) -> None:
    """Shift of 10 numbers"""
    x = reference.numbers(10)
    close(student.shift(x, 0.25), reference.shift(x, 0.25), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_4(student: Handle, reference: Reference) -> None:
    """Shift of 13 numbers"""
    x = reference.numbers(13)
    close(student.shift(x, 4.0), reference.shift(x, 4.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_5(student: Handle, reference: Reference) -> None:
    """Shift of 16 numbers"""
    x = reference.numbers(16)
    close(student.shift(x, -0.5), reference.shift(x, -0.5), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_6(student: Handle, reference: Reference) -> None:
    """Shift of 19 numbers"""
    x = reference.numbers(19)
    close(student.shift(x, 1.0), reference.shift(x, 1.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_7(student: Handle, reference: Reference) -> None:
    """Shift of 22 numbers"""
    x = reference.numbers(22)
    close(student.shift(x, 8.0), reference.shift(x, 8.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_8(student: Handle, reference: Reference) -> None:
    """Shift of 25 numbers"""
    x = reference.numbers(25)
    close(student.shift(x, -2.0), reference.shift(x, -2.0), dtype=torch.float32, limit=0, reason=EXACT)


@pytest.mark.check("shift")
def test_shift_9(student: Handle, reference: Reference) -> None:
    """Shift of 28 numbers"""
    x = reference.numbers(28)
    close(student.shift(x, 0.125), reference.shift(x, 0.125), dtype=torch.float32, limit=0, reason=EXACT)
