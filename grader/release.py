"""Everything a student gets, made from the solved source: ``release/<id>/``.

The folder is built in memory first, so that ``--check`` can compare it with what lies on the disk, and so that a
mistake in an assignment never leaves half a release behind.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jinja2
import msgspec

from grader.cells import to_notebook
from grader.diagnose import SIGNATURES, read_signatures
from grader.errors import SpecError, UsageError
from grader.handle import LocalHandle, read_scenarios
from grader.leaks import Secrets, leaks
from grader.manifest import CHECKS, MANIFEST, SCHEMA, Manifest, Table, read_manifest
from grader.model import Assignment, Outcome, to_json
from grader.reference import PUBLIC_SEED, Reference, load_module
from grader.session import Checks, with_checks
from grader.store import write_atomically
from grader.stubs import make_stub

__all__ = ["build", "differences", "foreign", "write"]

PYTEST_INI = """\
[pytest]
testpaths = checks
filterwarnings =
    ignore:Failed to initialize NumPy:UserWarning
"""

CONFTEST = '''"""Lets plain `pytest` run the checks of this folder."""

pytest_plugins = ["grader.plugin"]
'''


def build(assignment: Assignment) -> dict[str, bytes]:
    """The files of the release by relative path. Raises SpecError: a stub that cannot be made, a public check that
    the solution fails or the stub passes, something in them that must not ship.
    """
    folder = Path(assignment.folder)
    source = Path(assignment.solution).read_bytes()
    stub = make_stub(source, assignment.file)
    handout = _handout(assignment, folder)
    files = {
        assignment.file: stub,
        f"{Path(assignment.file).stem}.ipynb": to_notebook(stub.decode("utf-8-sig"), assignment, handout),
        "conftest.py": CONFTEST.encode(),
        "pytest.ini": PYTEST_INI.encode(),
        "README.md": handout.encode(),
        "checks/expected.json": _expected(assignment, folder, source, stub),
    }
    for path in sorted((folder / "checks" / "public").glob("*.py")):
        files[f"checks/{path.name}"] = path.read_bytes()
    for path in _below(folder / "figures"):
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    signatures = read_signatures(folder)
    if signatures.probes:
        files[f"checks/{SIGNATURES}"] = msgspec.json.encode(signatures) + b"\n"
    files[CHECKS] = to_json(_table(assignment), indent=1)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    files[MANIFEST] = to_json(Manifest(SCHEMA, digests), indent=1)
    if found := leaks(files, Secrets.of(assignment)):
        raise SpecError([f"release of {assignment.id}: {sentence}" for sentence in found])
    return files


def _handout(assignment: Assignment, folder: Path) -> str:
    path = folder / "handout.md"
    if not path.exists():
        return f"# {assignment.title}\n"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - Markdown, from us
    try:
        return environment.from_string(path.read_text(encoding="utf-8")).render(assignment=assignment)
    except Exception as error:  # noqa: BLE001 - an expression in a template may raise anything
        raise SpecError([f"{path}: {type(error).__name__}: {error}"]) from None


def _expected(assignment: Assignment, folder: Path, solution: bytes, stub: bytes) -> bytes:
    """Every answer of ``reference`` that a public check asks for, recorded while the solution passes them all."""
    truth = Reference(load_module(folder / "reference.py"), PUBLIC_SEED)
    scenarios = read_scenarios(folder / "checks" / "public")
    problems: list[str] = []

    def body(checks: Checks) -> None:
        solved = LocalHandle(solution.decode("utf-8-sig"), assignment.file, scenarios, assignment.forbidden)
        unsolved = LocalHandle(stub.decode("utf-8-sig"), assignment.file, scenarios)
        for check in assignment.public_checks:
            seen = checks.play(check, solved)
            if seen.outcome is not Outcome.PASSED:
                why = f"{seen.evidence.message}\n{seen.evidence.detail}" if seen.evidence else ""
                problems.append(f"{check.file}:{check.line}: the solution does not pass `{check.id}`: {why}")
            if checks.play(check, unsolved).outcome is Outcome.PASSED:
                problems.append(
                    f"{check.file}:{check.line}: the empty stub passes `{check.id}`; make it demand a value"
                )

    with_checks(folder, assignment.public_checks, truth, body)
    if problems:
        raise SpecError(problems)
    return json.dumps(dict(sorted(truth.recorded().items())), indent=0).encode() + b"\n"


def _table(assignment: Assignment) -> Table:
    """What students may know of the checks: the public ones, and how many others there are."""
    replace = msgspec.structs.replace
    public = replace(
        assignment,
        folder="",
        solution="",
        checks=tuple(replace(check, file=f"checks/{Path(check.file).name}") for check in assignment.public_checks),
    )
    hidden = [check.exercise for check in assignment.hidden_checks]
    return Table(SCHEMA, public, {exercise.id: hidden.count(exercise.id) for exercise in assignment.exercises})


def differences(files: dict[str, bytes], folder: Path) -> list[str]:
    """What in ``folder`` is not what the release would be, one sentence per file."""
    lines = []
    for name, data in sorted(files.items()):
        path = folder / name
        if not path.exists():
            lines.append(f"{path} is missing")
        elif path.read_bytes() != data:
            lines.append(f"{path} differs from what the assignment makes")
    return lines + [f"{folder / name} belongs to no release" for name in foreign(files, folder)]


def foreign(files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """What else lies in ``folder``: it would go to students with the release."""
    there = {path.relative_to(folder).as_posix(): path for path in _below(folder)}
    return {name: path.read_bytes() for name, path in there.items() if name not in files}


def _below(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write the release into ``folder``, and remove what the release that was there before does not share with it."""
    try:
        before = set(read_manifest(folder).files)
    except UsageError:
        before = set()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != data:
            write_atomically(path, data)
    for path in _below(folder):
        if path.relative_to(folder).as_posix() in before - files.keys():
            path.unlink()
