"""An assignment folder as a record: ``assignment.toml``, the check files and the solution, read and compared.

Nothing of the assignment is imported or run. A folder with mistakes is refused with all of them at once, so that
an instructor mends it in one go.
"""

from __future__ import annotations

import hashlib
import keyword
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import msgspec

from grader.checkfiles import CheckFiles, CheckFunction, names_bound, parse, scan
from grader.errors import SpecError, UsageError
from grader.model import Assignment, Check, Exercise, Limits
from grader.reading import Table, did_you_mean, read_toml, toml_key

__all__ = ["check_digests", "discover", "find_assignment", "find_course", "load"]

_SCHEMA = 1

# What `student` in a check can do besides calling functions (`grader.handle`, which imports torch).
RESERVED = frozenset({
    "ask", "begin", "close", "explain", "faults", "fresh", "last_call", "losses", "notes", "output", "play", "request",
    "served", "workers",
})  # fmt: skip


def find_course(start: Path) -> Path:
    """The nearest directory at or above ``start`` that holds ``assignments/``; UsageError where there is none."""
    start = _absolute(start)
    for folder in (start, *start.parents):
        if (folder / "assignments").is_dir():
            return folder
    raise UsageError(f"no course here: neither {start} nor a folder above it holds `assignments/` — go to your course")


def discover(course: Path) -> list[Path]:
    """The assignment folders of a course, by name; a folder that starts with a dot or an underscore is none."""
    try:
        folders = sorted((course / "assignments").iterdir())
    except OSError as exc:
        raise UsageError(f"{course} is no course: its `assignments/` cannot be read ({exc.strerror})") from exc
    return [folder for folder in folders if folder.is_dir() and folder.name[0] not in "._"]


def find_assignment(course: Path, assignment: str) -> Path:
    """The folder of the assignment with this id; UsageError, with the nearest name, where there is none."""
    folders = {folder.name: folder for folder in discover(course)}
    if assignment in folders:
        return folders[assignment]
    near = did_you_mean(assignment, folders) or f" — there are: {', '.join(folders) or 'none'}"
    raise UsageError(f"no assignment {assignment!r} in {course / 'assignments'}{near}")


def load(folder: Path) -> Assignment:
    """The assignment in ``folder``, which is ``assignments/<id>`` of a course.

    ``checks`` follow the exercises in the file; within one, public come before hidden, then file name and line
    decide, and a check always comes after those that it needs.

    Raises SpecError with every mistake in ``assignment.toml``, in the check files and in the solution, each with
    its file and its line or key.
    """
    folder = _absolute(folder)
    course = folder.parent.parent
    where = folder.relative_to(course).as_posix()
    problems: list[str] = []
    intent = _read_intent(folder, f"{where}/assignment.toml", problems)
    found = scan(folder, where, problems)
    for helper in ("reference.py", "scenarios.py"):
        if (folder / helper).exists():
            parse(folder / helper, f"{where}/{helper}", problems)
    solution = course / "solutions" / folder.name / intent.file
    if intent.file:
        _compare_solution(solution, solution.relative_to(course).as_posix(), intent, problems)
    if found.complete and not found.unmarked and not any(check.hidden for check in found.checks):
        problems.append(f"{where}/checks/hidden: there is no check, so nothing earns points — add test_*.py to it")
    if intent.readable:
        _compare_ids(intent, found, where, problems)
        _compare_points(intent, found)
    checks = _in_order(list(intent.exercises), found, where, problems)
    if problems:
        raise SpecError(problems)
    return Assignment(
        id=folder.name,
        title=intent.title,
        file=intent.file,
        folder=str(folder),
        solution=str(solution),
        exercises=tuple(
            Exercise(name, said.title, float(said.points or 0), said.forbidden)
            for name, said in intent.exercises.items()
        ),
        checks=tuple(_record(check, intent.checks[check.id]) for check in checks),
        limits=intent.limits,
    )


def check_digests(assignment: Assignment, seed_hash: str, wire_version: int) -> dict[str, str]:
    """For each check id the sha256 of everything that decides its outcome.

    That is: its function's name; what its exercise forbids; the bytes of its module, of ``scenarios.py``, of
    ``reference.py`` and of every Python file below ``checks`` that is no check file; the seed's hash and the wire
    version. What else stands in ``assignment.toml`` (points, hints) and the gallery never change it.
    """
    folder = Path(assignment.folder)
    helpers = [path for path in sorted((folder / "checks").rglob("*.py")) if not path.name.startswith("test_")]
    common = [seed_hash.encode(), str(wire_version).encode()]
    for path in (folder / "scenarios.py", folder / "reference.py", *helpers):
        if path.exists():
            common += [path.relative_to(folder).as_posix().encode(), path.read_bytes()]
    modules = {file: (folder / file).read_bytes() for file in {check.file for check in assignment.checks}}
    forbidden = {name: "\n".join(calls).encode() for name, calls in assignment.forbidden.items()}
    return {
        check.id: _sha256([check.function.encode(), forbidden.get(check.exercise, b""), modules[check.file], *common])
        for check in assignment.checks
    }


def _absolute(path: Path) -> Path:
    """Absolute, with ``..`` resolved but no links: an assignment's id is the name that its folder is called by."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps "..", Path.resolve follows links


def _sha256(parts: list[bytes]) -> str:
    """One digest of several byte strings; with their lengths, so that no two lists look alike."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


@dataclass
class _Exercise:
    table: Table
    title: str
    points: Fraction | None
    forbidden: tuple[str, ...]


@dataclass
class _Check:
    table: Table
    points: Fraction | None
    stretch: bool
    split: bool
    hints: tuple[str, ...]
    sound: bool  # False: points or stretch are unusable, and that has been told


@dataclass
class _Intent:
    """What ``assignment.toml`` says; empty where it says nothing usable."""

    title: str = ""
    file: str = ""
    limits: Limits = field(default_factory=Limits)
    exercises: dict[str, _Exercise] = field(default_factory=dict)
    checks: dict[str, _Check] = field(default_factory=dict)
    readable: bool = False  # False: there is no such file, or it is no TOML


def _read_intent(folder: Path, where: str, problems: list[str]) -> _Intent:
    top = read_toml(folder / "assignment.toml", where, problems)
    intent = _Intent(readable=top is not None)
    if top is None:
        return intent
    top.only("schema", "id", "title", "file", "forbidden", "limits", "exercises", "checks")
    schema = top.number("schema", whole=True, required=True)
    if schema not in (None, _SCHEMA):
        top.say("schema", f"is {schema}, but this grader reads {_SCHEMA} — use the grader that the folder is made for")
    if (name := top.text("id")) and name != folder.name:
        top.say("id", f"is {name!r}, but the folder is called {folder.name!r} — give both the same name")
    intent.title = top.text("title")
    if (file := top.text("file")) and file.endswith(".py") and _is_name(file.removesuffix(".py")):
        intent.file = file
    elif file:
        top.say("file", f"{file!r} is not the name of a Python module — write it like 'losses.py', without a folder")
    intent.limits = _read_limits(top.table("limits"))
    everywhere = _forbidden(top)
    exercises = top.table("exercises", required=True)
    if exercises.values == {} == top.values.get("exercises"):
        top.say("exercises", "names no exercise — add [exercises.<function>]")
    for name, table in exercises.tables().items():
        table.only("title", "points", "forbidden")
        if not _is_name(name) or name in RESERVED:
            reason = f"`student.{name}` has a meaning in checks" if name in RESERVED else "it is no Python name"
            exercises.say(name, f"an exercise cannot be called so: {reason} — rename it")
        points, forbidden = table.points("points", required=True), tuple({**everywhere, **_forbidden(table)})
        intent.exercises[name] = _Exercise(table, table.text("title"), points, forbidden)
    for name, table in top.table("checks", required=True).tables().items():
        table.only("points", "stretch", "split", "hints")
        before = len(problems)
        points, stretch = table.points("points"), table.flag("stretch")
        sound = len(problems) == before
        intent.checks[name] = _Check(table, points, stretch, table.flag("split"), table.texts("hints"), sound)
    return intent


def _forbidden(table: Table) -> dict[str, None]:
    """The names of the library's functions that students have to do without, in their order."""
    names = table.texts("forbidden")
    for name in names:
        if not name.isidentifier():
            table.say("forbidden", f"{name!r} is no function's name — write it without `torch.`, like 'softmax'")
    return dict.fromkeys(names)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _read_limits(table: Table) -> Limits:
    fields = {known.name: known.type for known in msgspec.structs.fields(Limits)}
    table.only(*fields)
    given = {}
    for key, kind in fields.items():
        value = table.number(key, whole=kind is int)
        if value == 0:
            table.say(key, "is 0, but must be more: nothing could run")
        if value:
            given[key] = kind(value)
    return Limits(**given)


def _compare_solution(path: Path, where: str, intent: _Intent, problems: list[str]) -> None:
    """Tell which exercises the solution does not define."""
    tree = parse(path, where, problems)
    if tree is None:
        return
    names = {name for name, _ in names_bound(tree)}
    for exercise in intent.exercises:
        if exercise not in names:
            near = did_you_mean(exercise, sorted(names - intent.exercises.keys())) or " — add it"
            problems.append(f"{where}: no definition of the exercise {exercise!r}{near}")


def _compare_ids(intent: _Intent, found: CheckFiles, where: str, problems: list[str]) -> None:
    """The TOML file and the check files must name exactly the same checks."""
    first: dict[str, CheckFunction] = {}
    unknown = set(found.unmarked)
    for check in found.checks:
        at = f"{where}/{check.file}:{check.line}"
        if intent.exercises and check.exercise not in intent.exercises:
            near = did_you_mean(check.exercise, intent.exercises) or " — add it to assignment.toml"
            problems.append(f"{at}: unknown exercise {check.exercise!r}{near}")
            unknown.add(check.name)
        elif check.id in first:
            other = first[check.id]
            told = f"the id {check.id!r} is taken by {other.file}:{other.line}"
            problems.append(f"{at}: {told} — rename one of the functions")
        elif check.id not in intent.checks:
            told = f"the check {check.id!r} is not in assignment.toml"
            problems.append(f"{at}: {told} — add [checks.{toml_key(check.id)}]")
        first.setdefault(check.id, check)
    for name, said in intent.checks.items():
        if name not in first and found.complete and name.rpartition("/")[2] not in unknown:
            missing = sorted(first.keys() - intent.checks.keys())
            near = did_you_mean(name, missing) or " — write it, or remove this table"
            problems.append(f"{said.table.file}: {said.table.path[:-1]}: there is no such check function{near}")


def _compare_points(intent: _Intent, found: CheckFiles) -> None:
    """Hidden checks earn points, public ones do not, and an exercise is worth the sum of its core checks."""
    hidden = {check.id: check.hidden for check in found.checks}
    sums = dict.fromkeys(intent.exercises, Fraction(0))
    unclear = {check.exercise for check in found.checks if check.id not in intent.checks}
    for name, said in intent.checks.items():
        exercise = name.partition("/")[0]
        if name not in hidden or not said.sound:
            unclear.add(exercise)
        if hidden.get(name) is False:
            for key in ("points", "stretch", "split"):
                if key in said.table.values:
                    said.table.say(key, "a public check earns no points, for its answers ship — remove it")
        elif hidden.get(name) and "points" not in said.table.values:
            said.table.say("points", "is missing — say what this hidden check is worth")
            unclear.add(exercise)
        elif hidden.get(name) and said.points == 0:
            said.table.say("points", "is 0, but a hidden check must be worth something")
            unclear.add(exercise)
        elif hidden.get(name) and exercise in sums and not said.stretch:
            sums[exercise] += said.points or 0
    for exercise, worth in intent.exercises.items():
        if exercise not in unclear and worth.points not in (None, sums[exercise]):
            total = f"must be the sum of its hidden checks that are not stretch, {_shown(sums[exercise])}"
            worth.table.say("points", f"is {_shown(worth.points or 0)}, but {total} — change one of them")


def _shown(points: Fraction | int) -> str:
    return f"{float(points):.2f}".rstrip("0").rstrip(".")


def _in_order(exercises: list[str], found: CheckFiles, where: str, problems: list[str]) -> list[CheckFunction]:
    """The checks in the order in which they run; tells every need that cannot be met."""
    places = {name: place for place, name in enumerate(exercises)}
    checks = sorted(found.checks, key=lambda check: places.get(check.exercise, len(places)))  # stable: file and line
    by_id = {check.id: check for check in checks}
    waiting = {check.id: _needs(check, by_id, found, where, problems) for check in checks}
    ordered: list[CheckFunction] = []
    while ready := next((key for key, needs in waiting.items() if not needs & waiting.keys()), None):
        ordered.append(by_id[ready])
        del waiting[ready]
    told: set[frozenset[str]] = set()
    for start in waiting:  # each of these needs another one that waits too: follow the needs until they repeat
        path = [start]
        while path[-1] not in path[:-1]:
            path.append(min(waiting[path[-1]] & waiting.keys()))
        cycle = path[path.index(path[-1]) :]
        if frozenset(cycle) not in told:
            told.add(frozenset(cycle))
            at = f"{where}/{by_id[cycle[0]].file}:{by_id[cycle[0]].line}"
            problems.append(f"{at}: checks need each other: {' → '.join(cycle)} — remove one of these needs")
    return ordered


def _needs(
    check: CheckFunction, by_id: dict[str, CheckFunction], found: CheckFiles, where: str, problems: list[str]
) -> set[str]:
    """The ids that a check needs, without those that cannot be; of them it tells why."""
    ids = set()
    kind = "hidden" if check.hidden else "public"
    mates = [mate.name for mate in by_id.values() if (mate.exercise, mate.hidden) == (check.exercise, check.hidden)]
    for name in check.needs:
        target = by_id.get(f"{check.exercise}/{name}")
        if target is not None and target.hidden == check.hidden:
            ids.add(target.id)
            continue
        others = sorted(other.exercise for other in by_id.values() if name in (other.name, other.id))
        if target is not None:
            why = f"which is not {kind} as this check is: the two kinds never run together — need a {kind} check"
        elif others and check.exercise not in others:
            why = f"a check of the exercise {others[0]!r} — checks need only checks of their own exercise"
        elif name in found.unmarked or not found.complete:
            continue  # it may well be there, once the other mistakes are mended
        else:
            why = f"but {check.exercise!r} has no such check{did_you_mean(name, mates) or ' — write its name only'}"
        problems.append(f"{where}/{check.file}:{check.line}: {check.id!r} needs {name!r}, {why}")
    return ids


def _record(check: CheckFunction, said: _Check) -> Check:
    return Check(
        id=check.id,
        exercise=check.exercise,
        title=check.title,
        file=check.file,
        function=f"test_{check.name}",
        line=check.line,
        hidden=check.hidden,
        points=float(said.points or 0),
        stretch=said.stretch,
        split=said.split,
        needs=tuple(f"{check.exercise}/{name}" for name in dict.fromkeys(check.needs)),
        device=check.device,
        hints=said.hints,
    )
