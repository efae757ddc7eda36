"""The errors that end a command, each with its own exit code (listed in `grader --help`).

GraderError              3  the grader's own fault
├── UsageError           2  the command line asks for something impossible
├── SpecError            2  an assignment folder has mistakes; all of them are listed
├── UnreadableSubmission 4  a submission that cannot be turned into source text
└── EnvironmentRefused   5  this machine lacks an isolation layer, disk space, a program
"""

from __future__ import annotations

__all__ = ["EnvironmentRefused", "GraderError", "SpecError", "UnreadableSubmission", "UsageError"]


class GraderError(Exception):
    """A sentence for the user that says what, where, why and what to do."""

    exit_code = 3


class UsageError(GraderError):
    """The command line asks for something that cannot be done."""

    exit_code = 2


class SpecError(GraderError):
    """An assignment folder has mistakes; ``problems`` holds every one of them, in file order."""

    exit_code = 2

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class UnreadableSubmission(GraderError):
    """A submission cannot be turned into source text; the message is for its author."""

    exit_code = 4


class EnvironmentRefused(GraderError):
    """This machine lacks what the command needs; the message names it and the way round."""

    exit_code = 5
