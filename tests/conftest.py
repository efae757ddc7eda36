"""Fixtures that several test modules use."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader import spec
from grader.handle import LocalHandle, read_scenarios
from grader.isolation import Zygote
from grader.model import Limits
from grader.reference import Reference, load_module
from tests.arena import SECRET


class _Plain:
    """A pytest plugin that runs checks the ordinary way: default protocol, default plugins."""

    def __init__(self, folder: Path, source: str) -> None:
        assignment = spec.load(folder)
        self.handle = LocalHandle(source, assignment.file, read_scenarios(folder))
        self.truth = Reference(load_module(folder / "reference.py"), SECRET)
        self.ids = {(Path(check.file).name, check.function): check.id for check in assignment.hidden_checks}
        self.outcomes: dict[str, str] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "check: as in a release")

    @pytest.fixture
    def student(self) -> LocalHandle:
        return self.handle

    @pytest.fixture
    def reference(self) -> Reference:
        return self.truth

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path, _, name = report.nodeid.partition("::")
        check = self.ids[Path(path).name, name.partition("[")[0]]
        if report.when == "call" or report.failed:
            worst = self.outcomes.get(check, "passed")
            self.outcomes[check] = "failed" if "failed" in (worst, report.outcome) else report.outcome


@pytest.fixture
def plain_outcomes() -> Callable[[Path, str], dict[str, str]]:
    """Check id → "passed" or "failed" by plain pytest, hidden checks of a folder against a source text."""

    def outcomes(folder: Path, source: str) -> dict[str, str]:
        plugin = _Plain(folder, source)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**31, hard))  # some mistakes build a table of 70 000 squared
        pytest.main(
            ["-c", os.devnull, "--rootdir", str(folder), "--import-mode=importlib", "-p", "no:cacheprovider", "-p",
             "no:terminal", "--capture=no", str(folder / "checks" / "hidden")],
            plugins=[plugin],
        )  # fmt: skip
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for name, module in list(sys.modules.items()):  # as `with_checks` does, and for the same reason
            if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        return plugin.outcomes

    return outcomes


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One for all tests that end every worker they fork: starting it takes seconds."""
    with Zygote(Limits(), "process") as one:
        yield one
