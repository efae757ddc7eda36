"""One public check."""

from __future__ import annotations

import pytest
import torch

from grader.compare import close
from grader.handle import Handle
from grader.reference import Reference


@pytest.mark.check("scale")
def test_halves(student: Handle, reference: Reference) -> None:
    """Half of 1, 2 and 3"""
    x = torch.tensor([1.0, 2.0, 3.0])
    close(student.scale(x, 0.5), reference.scale(x, 0.5), dtype=torch.float32, limit=0, reason="halving is exact")
