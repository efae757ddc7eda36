"""The command line. Imports nothing heavy until a command needs it, so that help answers at once."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader import __version__
from grader.errors import GraderError, UsageError

if TYPE_CHECKING:
    from grader.grade import GradeReport
    from grader.model import Check, MistakeFound
    from grader.session import Observation

__all__ = ["main"]

EPILOG = """\
\b
Exit codes:
  0    done; for grade: grading has finished, whatever the scores
  1    checks failed, or a release is out of date
  2    usage, or mistakes in an assignment
  3    the grader's own fault
  4    a submission that cannot be read
  5    this machine refuses: an isolation layer, the disk
  130  interrupted
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grader")
def cli() -> None:
    """Autograded exercises for deep-learning numerics."""


@cli.command()
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--only", metavar="EXERCISE", help="Run the checks of one exercise.")
@click.option("-x", "stop_at_first", is_flag=True, help="Stop at the first check that does not pass.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output, nothing else there.")
def check(path: Path, only: str | None, stop_at_first: bool, as_json: bool) -> None:
    """Run the public checks on your file: a release folder, or a file in one."""
    from grader import local
    from grader.message import failure_text, outcome_word
    from grader.model import Outcome, to_json
    from grader.plain import printable

    _, file = local.find_release(path)

    def tell(item: Check, seen: Observation, mistakes: tuple[MistakeFound, ...]) -> None:
        if as_json:
            return
        if seen.outcome is Outcome.PASSED:
            click.echo(f"✓ {item.id}  {item.title}")
        elif seen.evidence is None:
            click.echo(f"- {item.id}  {outcome_word(seen.outcome)}: it builds on {' and '.join(item.needs)}")
        else:
            click.echo(f"\n✗ {failure_text(item, file.name, seen.evidence, mistakes)}\n")

    def note(text: str) -> None:
        click.echo(f"note: {printable(text)}", err=as_json)

    with _prints_aside() if as_json else contextlib.nullcontext():
        table, seen, found = local.check(path, only, stop_at_first, tell, note)
    passed = sum(observation.outcome is Outcome.PASSED for observation in seen.values())
    if as_json:
        document: dict[str, Any] = {
            "schema": 1,
            "assignment": table.assignment.id,
            "file": file.name,
            "checks": [{"id": name, "outcome": one.outcome, "evidence": one.evidence} for name, one in seen.items()],
            "mistakes": found,
        }
        _write(to_json(document))
    else:
        hidden = sum(count for exercise, count in table.hidden.items() if only in (None, exercise))
        all_ = "all " if passed == len(seen) else ""
        click.echo(
            f"\n{all_}{passed} of {len(seen)} public checks passed; {hidden} hidden checks will grade your file."
        )
    sys.exit(0 if passed == len(seen) else 1)


@cli.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), help="[default: release/ beside assignments/]")
@click.option("--check", "check_only", is_flag=True, help="Write nothing; exit 1 if a release is out of date.")
def release(ids: tuple[str, ...], out: Path | None, check_only: bool) -> None:
    """Make what students get from the solved sources: stub, notebook, handout, public checks, the grader's wheel."""
    from grader import release as releases
    from grader import spec, wheel
    from grader.errors import SpecError
    from grader.leaks import Secrets, leaks
    from grader.store import write_atomically

    course = spec.find_course(Path.cwd())
    out = out or course / "release"
    folders = [spec.find_assignment(course, id_) for id_ in ids] or spec.discover(course)
    stale = []
    name, package = wheel.build()
    for folder in folders:
        assignment = spec.load(folder)
        files = releases.build(assignment)
        around = releases.foreign(files, out / folder.name) | {f"../{name}": package}
        if found := leaks(around, Secrets.of(assignment)):
            raise SpecError([f"{out / folder.name}: {sentence}" for sentence in found])
        if check_only:
            stale += releases.differences(files, out / folder.name)
        else:
            releases.write(files, out / folder.name)
            write_atomically(out / name, package)
            click.echo(f"{out / folder.name}: {len(files)} files, and {name} beside it")
    for line in stale:
        click.echo(line, err=True)
    if stale:
        click.echo("run `grader release` and commit what it writes", err=True)
        sys.exit(1)


@cli.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--strict", is_flag=True, help="What is missing counts as wrong: mistakes, hints, up-to-date signatures.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output, nothing else there.")
def verify(ids: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Prove an assignment: the solution is full, the stub empty, every mistake caught and named, nothing leaks.

    Without --strict it also brings signatures.json up to date.
    """
    import time

    from grader import spec
    from grader import verify as gate
    from grader.verdict import verdict_document, verdict_text

    course = spec.find_course(Path.cwd())
    folders = [spec.find_assignment(course, id_) for id_ in ids] or spec.discover(course)
    verdicts = []
    for folder in folders:
        start = time.monotonic()
        verdict = gate.verify(folder, gate.seed_of(course), _counter(f"{folder.name}: "))
        verdicts.append((verdict, round(time.monotonic() - start, 1)))
        if verdict.drift and not strict and not verdict.problems:
            gate.write_signatures(folder, verdict.signatures)
        if not as_json:
            click.echo(verdict_text(verdict, strict=strict))
    if as_json:
        _write(verdict_document(verdicts, strict=strict))
    sys.exit(0 if all(verdict.holds(strict=strict) for verdict, _ in verdicts) else 1)


@cli.command()
@click.argument("id_", metavar="ID")
def new(id_: str) -> None:
    """Make a small assignment to start from: it verifies, releases and grades as it is."""
    from grader import scaffold, spec

    try:
        course = spec.find_course(Path.cwd())
    except UsageError:
        course = Path.cwd()  # the first assignment makes the course
    for path in scaffold.new(course, id_):
        click.echo(path.relative_to(course))
    click.echo(f"\nnow: grader verify {id_}, then replace what is in these files by your own, and verify again")


@cli.command()
@click.argument("id_", metavar="ID")
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The results folder, made if missing.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Submissions at a time.  [default: cores]")
@click.option("--isolation", default="namespace", show_default=True, metavar="LEVEL", help="Here: process.")
@click.option("--accept-unsandboxed", is_flag=True, help="Agree to isolation `process`: limits, but no sandbox.")
@click.option("--force", is_flag=True, help="Grade again what has been graded.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output, nothing else there.")
def grade(
    id_: str,
    submissions: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    isolation: str,
    accept_unsandboxed: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Grade SUBMISSIONS (files, folders, zips, or a folder of them) and keep every run in the results folder.

    Whatever interrupts it, what was graded is kept, and the same command goes on with the rest.
    """
    from grader import grade as grading
    from grader import orphans, spec
    from grader.plain import printable

    if sys.platform == "linux":
        orphans.adopt()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like Ctrl-C: children first, results kept
    report = grading.grade(
        spec.find_course(Path.cwd()),
        id_,
        submissions,
        out,
        jobs=jobs or _cores(),
        tier=isolation,
        accept_unsandboxed=accept_unsandboxed,
        force=force,
        notice=lambda text: click.echo(text, err=True),
        progress=_counter("graded "),
    )
    if as_json:
        _write(grading.scores_document(report))
    else:
        _table(report, out, isolation)
    if report.ungraded:
        names = ", ".join(map(printable, report.ungraded[:20])) + ", …" * (len(report.ungraded) > 20)
        click.echo(f"without a score, for their grading has not finished: {names}", err=True)
    for student, sentence in report.errors:
        click.echo(f"grader error: {printable(student)}: {printable(sentence)}", err=True)
    sys.exit(report.exit_code)


@cli.command()
@click.option("--isolation", "tier", metavar="LEVEL", help="Examine one level only.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output, nothing else there.")
def doctor(tier: str | None, as_json: bool) -> None:
    """Find out whether this machine can grade: attack every layer of isolation.

    Exits with 5 if the level that was asked for, or else the default one, does not hold.
    """
    from grader import doctor as examination
    from grader import orphans
    from grader.model import to_json
    from grader.tiers import TIERS

    asked = (tier,) if tier else TIERS
    if sys.platform == "linux":
        orphans.adopt()
    found = examination.examine(asked, lambda name: click.echo(f"trying isolation {name} …", err=True))
    if as_json:
        _write(to_json({"schema": 1, "isolation": found}))
    else:
        click.echo(examination.text(found))
    sys.exit(5 if found[0].trouble else 0)


def _counter(what: str) -> Callable[[int, int], None]:
    """Progress on standard error: one line that counts on a terminal, a line for each tenth elsewhere."""
    interactive = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if interactive:
            click.echo(f"\r{what}{done}/{total}", nl=done == total, err=True)
        elif done == total or done * 10 // total != (done - 1) * 10 // total:
            click.echo(f"{what}{done} of {total}", err=True)

    return progress


def _cores() -> int:
    """The cores this process may use, which in a container or under Slurm are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _table(report: GradeReport, out: Path, tier: str) -> None:
    from collections import Counter

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grader.model import Outcome
    from grader.plain import printable

    table = Table(title=report.assignment.title)
    table.add_column("student", no_wrap=True, max_width=28)
    table.add_column("points", justify="right", no_wrap=True)
    extra = {"bonus": [s.bonus for s in report.scores], "pending": [s.pending_points for s in report.scores]}
    for name, values in extra.items():
        if any(values):
            table.add_column(name, justify="right", no_wrap=True)
    table.add_column("checks not passed, and the mistake if it is known", overflow="fold")
    for score in report.scores:
        lost = Counter(check.exercise for check in score.checks if check.outcome is not Outcome.PASSED)
        total = Counter(check.exercise for check in score.checks)
        known = {name: [one.id for one in score.mistakes if one.exercise == name] for name in total}
        lines = [
            f"{name} {lost[name]}/{total[name]}" + "".join(f": {id_}" for id_ in known[name])
            for name in total
            if lost[name]
        ]
        more = [f"{n:g}" if n else "" for n, column in ((score.bonus, "bonus"), (score.pending_points, "pending"))
                if any(extra[column])]  # fmt: skip
        points = f"{score.points:g}/{score.max_points:g}"
        table.add_row(Text(printable(score.student)), points, *more, "\n".join(lines))
    Console(highlight=False).print(table)
    for student, note in report.notes:
        click.echo(f"{printable(student)}: {printable(note)}")
    click.echo(f"isolation: {tier}; results: {out}, scores: {out / 'scores.json'}")
    if tier == "process":
        click.echo("! graded without a sandbox: these submissions could read and change whatever you can")
    if report.skipped:
        click.echo(f"{len(report.skipped)} were graded before and have not changed (--force grades them again)")


@contextlib.contextmanager
def _prints_aside() -> Iterator[None]:
    """What a student's file prints goes to standard error, so that standard output holds the document alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _write(document: bytes) -> None:
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()


def main() -> None:
    """Entry point: errors become one sentence on standard error and their exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign must not end the command
    try:
        cli(standalone_mode=False)
    except GraderError as error:
        from grader.plain import text

        click.echo(f"error: {text(str(error))}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception:  # noqa: BLE001 - the last resort: told as our fault, with what is needed to mend it
        click.echo(traceback.format_exc(), err=True)
        click.echo("grader error: this is a fault of the grader itself; what was graded before is kept", err=True)
        sys.exit(GraderError.exit_code)
