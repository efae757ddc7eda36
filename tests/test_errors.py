"""Each error that ends a command has its exit code."""

from __future__ import annotations

import pytest

from grader.errors import EnvironmentRefused, GraderError, SpecError, UnreadableSubmission, UsageError


@pytest.mark.parametrize(
    ("kind", "code"), [(GraderError, 3), (UsageError, 2), (UnreadableSubmission, 4), (EnvironmentRefused, 5)]
)
def test_exit_codes(kind: type[GraderError], code: int) -> None:
    """The codes are those that scripts rely on, and one `except` catches them all."""
    error = kind("what, where, why, what to do")
    assert (error.exit_code, str(error)) == (code, "what, where, why, what to do")
    assert isinstance(error, GraderError)


def test_a_spec_error_lists_everything() -> None:
    """All problems of an assignment are told at once, in order."""
    error = SpecError(["b is wrong", "a is wrong"])
    assert (error.problems, str(error), error.exit_code) == (("b is wrong", "a is wrong"), "b is wrong\na is wrong", 2)
    assert isinstance(error, GraderError)
