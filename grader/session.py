"""Checks are pytest items, collected once and run for one submission after another.

``pytest.main`` for each submission would cost 0.1 s; here one pytest session collects the items, and a lean loop
sets up, runs and tears down each of them (real fixtures, parametrization, assertion rewriting) without reporting
hooks. It leans on ``SetupState`` and ``_initrequest``, which pytest does not promise to keep: the minor version of
pytest is pinned for grading, and a test compares the outcomes with those of plain pytest.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import msgspec
import pytest
from _pytest.runner import SetupState

from grader.describe import call_text, size_of
from grader.errors import GraderError, SpecError
from grader.handle import Handle
from grader.model import Case, Check, CheckFailure, Evidence, Outcome

__all__ = ["Checks", "Observation", "Truth", "with_checks", "with_input"]

UNUSED_PLUGINS = (
    "cacheprovider capture debugging doctest faulthandler junitxml legacypath logging monkeypatch pastebin recwarn "
    "setuponly setupplan skipping stepwise subtests terminal threadexception tmpdir unittest unraisableexception warnings"
).split()
OUTCOMES = {
    "timeout": Outcome.TIMED_OUT,
    **dict.fromkeys(("raised", "memory", "crash", "protocol", "load", "not_implemented", "missing"), Outcome.ERRORED),
}


class Truth(Protocol):
    """What the ``reference`` fixture must be able to do besides answering calls."""

    def verify(self) -> None:
        """Raise if something that all submissions share was changed."""


class Observation(msgspec.Struct, frozen=True):
    """What one check did, over all its cases."""

    outcome: Outcome
    seconds: float
    evidence: Evidence | None = None
    cases: tuple[Case, ...] = ()


class Checks:
    """The collected checks of an assignment; :meth:`play` runs one of them against a handle."""

    def __init__(self, items: dict[str, list[pytest.Function]], session: pytest.Session, truth: Truth) -> None:
        self.items = items
        self._state: SetupState = session._setupstate
        self._truth = truth
        # Tearing down "towards" this item ends everything below the session and leaves the session's fixtures alone.
        self._sentinel = _Sentinel.from_parent(session, name="sentinel")
        self._handle: Handle | None = None

    @property
    def handle(self) -> Handle:
        """The submission that is being checked."""
        assert self._handle is not None
        return self._handle

    def play(self, check: Check, handle: Handle) -> Observation:
        """Run all cases of ``check`` and tear everything down again.

        Cases after one that lost the worker are not run: a loop would cost its time limit once per case.
        """
        self._handle = handle
        handle.begin(check.id, check.exercise)
        start = time.perf_counter()
        items = self.items[check.id]
        cases = []
        for item, following in zip(items, [*items[1:], self._sentinel], strict=True):
            name = item.name.partition("[")[2].removesuffix("]")
            lost = bool(cases) and cases[-1].evidence is not None and cases[-1].evidence.kind in ("timeout", "crash")
            outcome, evidence = (cases[-1].outcome, cases[-1].evidence) if lost else self._run(item, following)
            cases.append(Case(id=name, outcome=outcome, evidence=evidence))
        if cases[-1].outcome is not Outcome.PASSED:
            self._state.teardown_exact(self._sentinel)
        return _summary(check, tuple(cases), time.perf_counter() - start)

    def _run(self, item: pytest.Function, following: pytest.Item) -> tuple[Outcome, Evidence | None]:
        item._initrequest()
        handle = self.handle
        handle.last_call = None
        try:
            self._state.setup(item)
            item.runtest()
            return Outcome.PASSED, None
        except CheckFailure as failure:
            return OUTCOMES.get(failure.evidence.kind, Outcome.FAILED), with_input(failure.evidence, handle, item)
        except AssertionError as error:
            evidence = Evidence(kind="assertion", message="an assertion of this check does not hold", detail=str(error))
            return Outcome.FAILED, with_input(evidence, handle, item)
        except GraderError:
            raise  # the machinery broke, not this check
        except Exception as error:
            return Outcome.GRADER_ERROR, _our_fault(error)
        finally:
            self._state.teardown_exact(following)
            # pytest never clears these: one student's output would lie in the next one's record.
            item._report_sections.clear()
            item.user_properties.clear()
            self._truth.verify()


class _Sentinel(pytest.Item):
    def runtest(self) -> None:
        """Never called."""


def with_input(evidence: Evidence, handle: Handle, item: pytest.Function) -> Evidence:
    """``evidence`` with the last call the check had made, and the parametrised case."""
    case = item.name.partition("[")[2].removesuffix("]")
    if handle.last_call is None:
        return msgspec.structs.replace(evidence, case=case)
    name, args, kwargs = handle.last_call
    return msgspec.structs.replace(evidence, case=case, input=call_text(name, args, kwargs), size=size_of([args, kwargs]))


def _our_fault(error: BaseException) -> Evidence:
    text = "".join(traceback.format_exception(error))
    return Evidence(kind="grader", message="the check itself failed; this is not the student's fault", detail=text[-4000:])


def _summary(check: Check, cases: tuple[Case, ...], seconds: float) -> Observation:
    """The check passes if all its cases do; otherwise the smallest failing input tells why."""
    kept = cases if check.split else ()
    bad = [case for case in cases if case.outcome is not Outcome.PASSED]
    if not bad:
        return Observation(Outcome.PASSED, seconds, cases=kept)
    ours = [case for case in bad if case.outcome is Outcome.GRADER_ERROR]
    worst = ours[0] if ours else min(bad, key=lambda case: case.evidence.size if case.evidence else 0)
    return Observation(worst.outcome, seconds, worst.evidence, kept)


class _Plugin:
    """Our side of the pytest session: two fixtures, one mark, and the loop."""

    def __init__(self, checks: Iterable[Check], truth: Truth, body: Callable[[Checks], None]) -> None:
        self.wanted = {check.id for check in checks}
        self.truth = truth
        self.body = body
        self.checks: Checks | None = None
        self.problems: list[str] = []
        self.error: BaseException | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "check(exercise, needs=(), device='cpu'): what a check belongs to")

    @pytest.fixture
    def student(self) -> Handle:
        """The submission under check."""
        assert self.checks is not None
        return self.checks.handle

    @pytest.fixture(scope="session")
    def reference(self) -> Truth:
        """The assignment's truth."""
        return self.truth

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid} cannot be collected:\n{report.longreprtext}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.problems:
            return True
        items: dict[str, list[pytest.Function]] = {}
        for item in session.items:
            mark = item.get_closest_marker("check")
            if mark is not None and isinstance(item, pytest.Function):
                items.setdefault(f"{mark.args[0]}/{item.originalname.removeprefix('test_')}", []).append(item)
        if missing := self.wanted - items.keys():
            self.problems.append(f"pytest does not find the checks {', '.join(sorted(missing))}")
            return True
        self.checks = Checks({check: items[check] for check in self.wanted}, session, self.truth)
        try:
            self.body(self.checks)
        except BaseException as error:  # pytest would print it and go on; it belongs to our caller
            self.error = error
        return True


def with_checks(folder: Path, checks: Iterable[Check], truth: Truth, body: Callable[[Checks], None]) -> None:
    """Collect ``checks`` from the files below ``folder`` and call ``body`` while the session lasts.

    Raises SpecError when the files cannot be collected, and whatever ``body`` raises.
    """
    checks = list(checks)
    plugin = _Plugin(checks, truth, body)
    files = sorted({str(folder / check.file) for check in checks})
    off = [part for name in UNUSED_PLUGINS for part in ("-p", f"no:{name}")]
    pytest.main(
        ["-c", os.devnull, "--rootdir", str(folder), "--noconftest", "--import-mode=importlib",
         "--disable-plugin-autoload", *off, *files],
        plugins=[plugin],
    )  # fmt: skip
    if plugin.error is not None:
        raise plugin.error
    if plugin.problems:
        raise SpecError(plugin.problems)
    if plugin.checks is None:
        raise GraderError("pytest ended before it had collected the checks")
