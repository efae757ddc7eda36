"""Checks are pytest items, collected once and run for one submission after another.

``pytest.main`` for each submission would cost 0.1 s; here one pytest session collects the items, and a lean loop
sets up, runs and tears down each of them (real fixtures, parametrization, assertion rewriting) without reporting
hooks. It leans on ``SetupState`` and ``_initrequest``, which pytest does not promise to keep: the minor version of
pytest is pinned for grading, and a test compares the outcomes with those of plain pytest.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
import pytest

from grader import plain
from grader.describe import call_text, size_of
from grader.errors import GraderError, SpecError
from grader.handle import DETAIL_LIMIT, Handle
from grader.model import Case, Check, CheckFailure, Evidence, Outcome

if TYPE_CHECKING:
    from _pytest.runner import SetupState

__all__ = ["MARK", "Checks", "Observation", "Truth", "with_checks", "with_input"]

MARK = "check(exercise, needs=(), device='cpu'): what a check belongs to"
UNUSED_PLUGINS = [
    "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "legacypath", "logging",
    "monkeypatch", "pastebin", "recwarn", "setuponly", "setupplan", "skipping", "stepwise", "subtests", "terminal",
    "threadexception", "tmpdir", "unittest", "unraisableexception", "warnings",
]  # fmt: skip
OUTCOMES = {
    "timeout": Outcome.TIMED_OUT,
    **dict.fromkeys(
        ("raised", "memory", "crash", "protocol", "output", "load", "not_implemented", "missing"), Outcome.ERRORED
    ),
}
LOST = ("timeout", "crash", "output")  # kinds of failure after which the worker is gone


class Truth(Protocol):
    """What the ``reference`` fixture must be able to do besides answering calls."""

    def verify(self) -> None:
        """Raise if something that all submissions share was changed."""


class Observation:
    """What one check did, over all its cases. The evidence is put into words when it is first read."""

    def __init__(
        self,
        outcome: Outcome,
        seconds: float = 0.0,
        evidence: Evidence | Callable[[], Evidence] | None = None,
        cases: tuple[Case, ...] = (),
        kind: str = "",
    ) -> None:
        self.outcome = outcome
        self.seconds = seconds
        self.kind = kind  # of the evidence, without putting that into words
        self.cases = cases
        self._evidence = evidence

    @property
    def evidence(self) -> Evidence | None:
        """Why it did not pass."""
        if callable(self._evidence):
            self._evidence = self._evidence()
        return self._evidence


class _Result:
    """What one case did: its outcome, the kind and size of the failure, and how to put it into words."""

    def __init__(
        self, outcome: Outcome, kind: str = "", size: int = 0, tell: Callable[[], Evidence] | None = None
    ) -> None:
        self.outcome = outcome
        self.kind = kind
        self.size = size
        self.tell = tell


class Checks:
    """The collected checks of an assignment; :meth:`play` runs one of them against a handle."""

    def __init__(
        self,
        items: dict[str, list[pytest.Function]],
        session: pytest.Session,
        truth: Truth,
        solved: Callable[[], Handle] | None,
    ) -> None:
        self.items = items
        self._state: SetupState = session._setupstate
        self._truth = truth
        # Tearing down "towards" an item ends what that item does not need: towards this one, everything below the
        # session; towards the one beside an item, only the item itself.
        self._outside: pytest.Item = _Sentinel.from_parent(session, name="sentinel")
        self._beside: dict[pytest.Item, pytest.Item] = {
            item: _Sentinel.from_parent(parent, name="sentinel")
            for item in itertools.chain(*items.values())
            if (parent := item.parent) is not None
        }
        self._handle: Handle | None = None
        self._solved = solved

    @property
    def handle(self) -> Handle:
        """The submission that is being checked."""
        assert self._handle is not None
        return self._handle

    def play(self, check: Check, handle: Handle) -> Observation:
        """Run all cases of ``check``.

        Module fixtures live until another module's check, another handle, or :meth:`rest`. Cases after one that lost
        the worker are not run: a loop would cost its time limit once per case.
        """
        if handle is not self._handle:
            self.rest()
            self._handle = handle
        handle.begin(check.id, check.exercise)
        start = time.perf_counter()
        results: list[_Result] = []
        for item in self.items[check.id]:
            lost = bool(results) and results[-1].kind in LOST
            results.append(results[-1] if lost else self._run(item))
        return self._summary(check, results, time.perf_counter() - start)

    def rest(self) -> None:
        """End every fixture below the session: the pass over a submission is over."""
        self._state.teardown_exact(self._outside)

    def _run(self, item: pytest.Function) -> _Result:
        result = self._case(item)
        if result.outcome is not Outcome.GRADER_ERROR or self._solved is None or self.handle.last_call is None:
            return result
        # The check itself broke after an answer of the student. If it goes well with the solution's answers, then
        # the answer was at fault: else nonsense that trips a check would be worth more than a wrong answer.
        student, self._handle = self.handle, self._solved()
        again = self._case(item)
        self._handle = student
        return _unusable(result, student, item) if again.outcome is Outcome.PASSED else result

    def _case(self, item: pytest.Function) -> _Result:
        self._state.teardown_exact(item)  # what the check before has left and this one does not need
        item._initrequest()
        self.handle.last_call = None
        try:
            result = self._verdict(item)
            self._state.teardown_exact(self._beside[item])
            self._truth.verify()
        except GraderError:
            raise  # the machinery broke, not this check
        except Exception as error:  # noqa: BLE001 - whatever a fixture raises is our fault
            result = _our_fault(error)
        finally:
            # pytest never clears these: one student's output would lie in the next one's record.
            item._report_sections.clear()
            item.user_properties.clear()
        return result

    def _verdict(self, item: pytest.Function) -> _Result:
        try:
            self._state.setup(item)
            item.runtest()
        except CheckFailure as failure:
            return _failed(failure.with_traceback(None), self.handle, item)
        except AssertionError as error:
            detail = plain.text(str(error)[:DETAIL_LIMIT])  # it quotes what was returned
            evidence = Evidence(kind="assertion", message="an assertion of this check does not hold", detail=detail)
            return _failed(CheckFailure(evidence), self.handle, item)
        except GraderError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a check raises beside a failure is our fault
            return _our_fault(error)
        return _Result(Outcome.PASSED)

    def _summary(self, check: Check, results: list[_Result], seconds: float) -> Observation:
        """The check passes if all its cases do; otherwise the smallest failing input tells why."""
        bad = [result for result in results if result.outcome is not Outcome.PASSED]
        ours = [result for result in bad if result.outcome is Outcome.GRADER_ERROR]
        worst = ours[0] if ours else min(bad, key=lambda result: result.size, default=_Result(Outcome.PASSED))
        # Kept of every parametrised check, so that `split` can be switched on later without running anything again.
        names = [_case(item) for item in self.items[check.id]] if len(results) > 1 else []
        cases = tuple(Case(id=name, outcome=result.outcome) for name, result in zip(names, results, strict=False))
        return Observation(worst.outcome, seconds, worst.tell, cases, worst.kind)


class _Sentinel(pytest.Item):
    def runtest(self) -> None:
        """Never called."""


def _case(item: pytest.Function) -> str:
    return item.name.partition("[")[2].removesuffix("]")


def _failed(failure: CheckFailure, handle: Handle, item: pytest.Function) -> _Result:
    call = handle.last_call
    outcome = OUTCOMES.get(failure.kind, Outcome.FAILED)
    size = size_of(call[1:]) if call else 0
    return _Result(outcome, failure.kind, size, lambda: with_input(failure.evidence, call, item))


def with_input(
    evidence: Evidence, call: tuple[str, tuple[object, ...], dict[str, object]] | None, item: pytest.Function
) -> Evidence:
    """``evidence`` with the last ``call`` the check had made, and the parametrised case."""
    if call is None:
        return msgspec.structs.replace(evidence, case=_case(item))
    return msgspec.structs.replace(evidence, case=_case(item), input=call_text(*call), size=size_of(call[1:]))


def _unusable(result: _Result, student: Handle, item: pytest.Function) -> _Result:
    told = result.tell() if result.tell else None
    message = "the check cannot use what was returned; the solution's answer it can"
    evidence = Evidence(kind="unusable", message=message, detail=told.detail if told else "")
    return _failed(CheckFailure(evidence), student, item)


def _our_fault(error: BaseException) -> _Result:
    text = plain.text("".join(traceback.format_exception(error))[-DETAIL_LIMIT:])
    evidence = Evidence(kind="grader", message="the check itself failed; this is not the student's fault", detail=text)
    return _Result(Outcome.GRADER_ERROR, "grader", 0, lambda: evidence)


class _Plugin:
    """Our side of the pytest session: two fixtures, one mark, and the loop."""

    def __init__(
        self,
        checks: Iterable[Check],
        truth: Truth,
        body: Callable[[Checks], None],
        solved: Callable[[], Handle] | None,
    ) -> None:
        self.solved = solved
        self.wanted = {check.id for check in checks}
        self.truth = truth
        self.body = body
        self.checks: Checks | None = None
        self.problems: list[str] = []
        self.error: BaseException | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", MARK)

    @pytest.fixture
    def student(self) -> Handle:
        """The submission under check."""
        assert self.checks is not None
        return self.checks.handle

    @pytest.fixture
    def reference(self) -> Truth:
        """The assignment's truth."""
        return self.truth

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid} cannot be collected:\n{report.longreprtext}")

    def pytest_collection(self) -> bool | None:
        """Without files, pytest would collect whatever lies in the current directory."""
        return None if self.wanted else True

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
        self.checks = Checks({check: items[check] for check in self.wanted}, session, self.truth, self.solved)
        try:
            self.body(self.checks)
        except BaseException as error:  # noqa: BLE001 - pytest would print it and go on; it belongs to our caller
            self.error = error
        return True


def with_checks(
    folder: Path,
    checks: Iterable[Check],
    truth: Truth,
    body: Callable[[Checks], None],
    solved: Callable[[], Handle] | None = None,
) -> None:
    """Collect ``checks`` from the files below ``folder`` and call ``body`` while the session lasts.

    ``solved`` gives the solution's handle; it is asked when a check breaks, to tell whose fault that is. Raises
    SpecError when the files cannot be collected, and whatever ``body`` raises.
    """
    checks = list(checks)
    plugin = _Plugin(checks, truth, body, solved)
    files = sorted({str(folder / check.file) for check in checks})
    off = [part for name in UNUSED_PLUGINS for part in ("-p", f"no:{name}")]
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as environment:
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # meant for tests of one's own; here they end the session
            environment.delenv(name, raising=False)
        pytest.main(
            ["-c", os.devnull, "--rootdir", str(folder), "--noconftest", "--import-mode=importlib",
             "--disable-plugin-autoload", *off, *files],
            plugins=[plugin],
        )  # fmt: skip
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(f"{folder}{os.sep}"):
            del sys.modules[name]  # or the next assignment with a file of that name would be given this module
    if plugin.error is not None:
        raise plugin.error
    if plugin.problems:
        raise SpecError(plugin.problems)
    if plugin.checks is None:
        raise GraderError("pytest ended before it had collected the checks")
