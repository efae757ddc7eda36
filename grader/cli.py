"""The command line. Imports nothing heavy until a command needs it, so that help answers at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader import __version__
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.grade import GradeReport
    from grader.model import Check
    from grader.session import Observation

__all__ = ["main"]

EPILOG = """\
Exit codes: 0 done; 1 checks failed (check); 2 usage or assignment error; 3 the grader's own fault; 4 unreadable
submission; 5 this machine refuses (isolation layer, disk); 130 interrupted. `grade` exits 0 once grading has
finished, whatever the scores.
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
    import msgspec

    from grader import local
    from grader.message import failure_text, outcome_word
    from grader.model import Outcome

    _, file = local.find_release(path)

    def tell(item: Check, seen: Observation) -> None:
        if as_json:
            return
        if seen.outcome is Outcome.PASSED:
            click.echo(f"✓ {item.id}  {item.title}")
        elif seen.evidence is None:
            click.echo(f"- {item.id}  {outcome_word(seen.outcome)}: it builds on {' and '.join(item.needs)}")
        else:
            click.echo(f"\n✗ {failure_text(item, file.name, seen.evidence)}\n")

    manifest, seen = local.check(path, only, stop_at_first, tell)
    passed = sum(observation.outcome is Outcome.PASSED for observation in seen.values())
    if as_json:
        document: dict[str, Any] = {
            "schema": 1,
            "assignment": manifest.assignment.id,
            "file": file.name,
            "checks": [{"id": name, "outcome": one.outcome, "evidence": one.evidence} for name, one in seen.items()],
        }
        _write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    else:
        hidden = sum(count for exercise, count in manifest.hidden.items() if only in (None, exercise))
        all_ = "all " if passed == len(seen) else ""
        click.echo(f"\n{all_}{passed} of {len(seen)} public checks passed; {hidden} hidden checks will grade your file.")
    sys.exit(0 if passed == len(seen) else 1)


@cli.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), default=Path("release"), show_default=True)
@click.option("--check", "check_only", is_flag=True, help="Write nothing; exit 1 if a release is out of date.")
def release(ids: tuple[str, ...], out: Path, check_only: bool) -> None:
    """Make what students get from the solved sources: stub, handout, public checks."""
    from grader import release as releases
    from grader import spec

    course = spec.find_course(Path.cwd())
    folders = [spec.find_assignment(course, id_) for id_ in ids] or spec.discover(course)
    stale = []
    for folder in folders:
        files = releases.build(spec.load(folder))
        if check_only:
            stale += releases.differences(files, out / folder.name)
        else:
            releases.write(files, out / folder.name)
            click.echo(f"{out / folder.name}: {len(files)} files")
    for line in stale:
        click.echo(line, err=True)
    if stale:
        click.echo("run `grader release` and commit what it writes", err=True)
        sys.exit(1)


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
    """Grade SUBMISSIONS (files, folders, zips, or a folder of them) and keep every run in the results folder."""
    from grader import grade as grading
    from grader import spec

    interactive = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if interactive:
            click.echo(f"\r{done}/{total}", nl=done == total, err=True)
        elif done == total or done * 10 // total != (done - 1) * 10 // total:
            click.echo(f"graded {done} of {total}", err=True)

    report = grading.grade(
        spec.find_course(Path.cwd()),
        id_,
        submissions,
        out,
        jobs=jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or os.cpu_count() or 1,
        tier=isolation,
        accept_unsandboxed=accept_unsandboxed,
        force=force,
        notice=lambda text: click.echo(text, err=True),
        progress=progress,
    )
    if as_json:
        _write(grading.scores_document(report))
    else:
        _table(report, out)
    for student, sentence in report.errors:
        click.echo(f"grader error: {student}: {sentence}", err=True)
    sys.exit(report.exit_code)


def _table(report: GradeReport, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from grader.model import Outcome

    table = Table("student", "points", "bonus", "pending", "not passed", title=report.assignment.title)
    for score in report.scores:
        lost = [check.id for check in score.checks if check.outcome is not Outcome.PASSED and not check.stretch]
        shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        points = f"{score.points:g} / {score.max_points:g}"
        pending = f"{score.pending_points:g}" if score.pending_points else ""
        table.add_row(score.student, points, f"{score.bonus:g}" if score.bonus else "", pending, shown)
    Console().print(table)
    click.echo(f"isolation: process (limits only, no sandbox); results: {out}, scores: {out / 'scores.json'}")
    if report.skipped:
        click.echo(f"{len(report.skipped)} were graded before and have not changed (--force grades them again)")


def _write(document: bytes) -> None:
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()


def main() -> None:
    """Entry point: errors become one sentence on standard error and their exit code."""
    try:
        cli(standalone_mode=False)
    except GraderError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
