"""Plain ``pytest`` in a release folder: the same fixtures, checks and words as ``grader check``.

The folder's conftest.py names this module in ``pytest_plugins``.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from grader.diagnose import read_signatures
from grader.errors import GraderError
from grader.handle import LocalHandle
from grader.local import Diagnoses, open_handle, open_reference
from grader.manifest import read_table
from grader.message import failure_text
from grader.model import CheckFailure
from grader.reference import RecordedReference
from grader.session import MARK, with_input

__all__ = ["pytest_configure", "pytest_runtest_makereport", "reference", "student"]

DIAGNOSES = pytest.StashKey[Diagnoses]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", MARK)


def _folder(path: Path) -> Path:
    return path.parent.parent


@pytest.fixture(scope="module")
def _module_handle(request: pytest.FixtureRequest) -> LocalHandle:
    folder = _folder(request.path)
    assignment = read_table(folder).assignment
    return open_handle(folder, folder / assignment.file, assignment)


@pytest.fixture
def student(_module_handle: LocalHandle, _diagnoses: Diagnoses, request: pytest.FixtureRequest) -> LocalHandle:
    """The student's file."""
    request.node.stash[DIAGNOSES] = _diagnoses
    mark = request.node.get_closest_marker("check")
    _module_handle.begin(request.node.nodeid, mark.args[0] if mark is not None and mark.args else "")
    return _module_handle


@pytest.fixture(scope="module")
def _diagnoses(request: pytest.FixtureRequest, _module_handle: LocalHandle) -> Diagnoses:
    return Diagnoses(_module_handle, read_signatures(request.path.parent))


@pytest.fixture(scope="module")
def reference(request: pytest.FixtureRequest) -> RecordedReference:
    """The expected answers."""
    return open_reference(_folder(request.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A CheckFailure is shown in the words of ``grader check`` instead of a traceback of the grader."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, GraderError):  # the student's file cannot be used, or the release is damaged
        report.longrepr = str(error)
    if isinstance(error, CheckFailure) and isinstance(item, pytest.Function):
        assignment = read_table(_folder(item.path)).assignment
        place = (f"checks/{item.path.name}", item.originalname)
        check = next((check for check in assignment.checks if (check.file, check.function) == place), None)
        handle = item.funcargs.get("student")
        if check is not None and isinstance(handle, LocalHandle):
            evidence = with_input(error.evidence, handle.last_call, item)  # before the handle is asked anything else
            mistakes = item.stash[DIAGNOSES].of(check.exercise, evidence.kind)
            report.longrepr = failure_text(check, assignment.file, evidence, mistakes)
    return report
