"""What the check files of an assignment say, read from their syntax trees: nothing in them is imported or run.

A check is a plain function ``test_<name>`` at the top level of ``checks/public/test_*.py`` or
``checks/hidden/test_*.py``, with a ``check`` mark of literals:

    @pytest.mark.check("half", needs=["small"], device="cpu")
    def test_huge(student, reference): \"""The result stays finite at 1e38\"""
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeGuard

from grader.reading import did_you_mean, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CheckFiles", "CheckFunction", "names_bound", "parse", "scan"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_FORBIDDEN = {  # what would let a check end without a verdict, or be collected otherwise than it is read here
    "pytest.exit": "it would end the session of the whole class",
    "pytest.fixture": "checks use `student`, `reference` and parametrized values only",
    "pytest.importorskip": "a check passes or fails",
    "pytest.mark.skip": "a check passes or fails",
    "pytest.mark.skipif": "a check passes or fails",
    "pytest.mark.usefixtures": "checks use `student`, `reference` and parametrized values only",
    "pytest.mark.xfail": "a check passes or fails",
    "pytest.skip": "a check passes or fails",
    "pytest.xfail": "a check passes or fails",
    "unittest.SkipTest": "a check passes or fails",
}


@dataclass(frozen=True)
class CheckFunction:
    """One test function, as far as it can be read; ``needs`` are names of checks of the same exercise."""

    name: str  # without "test_"
    exercise: str
    title: str
    file: str  # relative to the assignment folder, with "/"
    line: int
    hidden: bool
    needs: tuple[str, ...]
    device: Literal["cpu", "cuda"]

    @property
    def id(self) -> str:
        """The id under which ``assignment.toml`` knows it."""
        return f"{self.exercise}/{self.name}"


@dataclass
class CheckFiles:
    """All checks of a folder in the order (public before hidden, file, line), and what could not be read."""

    checks: list[CheckFunction] = field(default_factory=list)
    unmarked: set[str] = field(default_factory=set)  # names of functions whose exercise is unknown
    complete: bool = True  # False: a file could not be parsed, so checks may be missing


def parse(path: Path, where: str, problems: list[str]) -> ast.Module | None:
    """The syntax tree of a Python file, or None and one more problem."""
    text = read_text(path, where, problems)
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in a string is not for us to judge
            compile(text, where, "exec", dont_inherit=True)  # sees more than the parser: `return` at top level
            return ast.parse(text)
    except SyntaxError as exc:
        problems.append(f"{where}:{exc.lineno or 1}: syntax error: {exc.msg}")
    except (ValueError, RecursionError, MemoryError) as exc:  # null bytes; nested too deeply
        problems.append(f"{where}:1: Python cannot read this file: {str(exc) or type(exc).__name__}")
    return None


def scan(folder: Path, where: str, problems: list[str]) -> CheckFiles:
    """Read all check files below ``folder``; ``where`` is what the folder is called in messages."""
    found = CheckFiles()
    for path in sorted((folder / "checks").rglob("*.py")):
        relative = path.relative_to(folder).as_posix()
        home, _, name = relative.rpartition("/")
        if not (name.startswith("test_") or name.endswith("_test.py")):
            continue
        if not name.startswith("test_") or home not in {"checks/public", "checks/hidden"}:
            told = "a check file stands in checks/public or checks/hidden and is called test_*.py — rename or move it"
            problems.append(f"{where}/{relative}: {told}")
            continue
        tree = parse(path, f"{where}/{relative}", problems)
        if tree is None:
            found.complete = False
        else:
            reader = _Reader(relative, home == "checks/hidden", found)
            reader.read(tree)
            said = sorted(reader.said, key=lambda line_and_sentence: line_and_sentence[0])
            problems += [f"{where}/{relative}:{line}: {sentence}" for line, sentence in said]
    found.checks.sort(key=lambda check: (check.hidden, check.file, check.line))
    return found


def names_bound(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every name that the module gets from a definition, an import or an assignment, with that statement."""
    for stmt in _module_level(tree):
        if isinstance(stmt, _DEFINITIONS):
            yield stmt.name, stmt
        elif isinstance(stmt, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.partition(".")[0], stmt) for alias in stmt.names)
        elif isinstance(stmt, ast.Assign) or (isinstance(stmt, ast.AnnAssign) and stmt.value is not None):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            names = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            yield from ((node.id, stmt) for node in names if isinstance(node.ctx, ast.Store))


def _module_level(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements whose names the module gets: those in `if`, `try`, `with` and loops included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) and not isinstance(child, _DEFINITIONS):
            yield from _module_level(child)


@dataclass
class _Reader:
    """Reads one check file: the checks go to ``found``, what is wrong with them to ``said``."""

    file: str
    hidden: bool
    found: CheckFiles
    said: list[tuple[int, str]] = field(default_factory=list)  # line and sentence
    imported: dict[str, str] = field(default_factory=lambda: {"pytest": "pytest"})  # local name → full name

    def read(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.imported |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom):
                self.imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        self._refuse(tree)
        lines: dict[str, int] = {}
        for stmt in tree.body:
            if self._is_check(stmt, tree):
                if stmt.name in lines:
                    self._say(stmt, f"{stmt.name!r} replaces the one of line {lines[stmt.name]} — rename one of them")
                lines[stmt.name] = stmt.lineno
                self._function(stmt)

    def _say(self, node: ast.expr | ast.stmt | ast.arg, sentence: str) -> None:
        self.said.append((node.lineno, sentence))

    @staticmethod
    def _is_check(stmt: ast.stmt, tree: ast.Module) -> TypeGuard[ast.FunctionDef]:
        named = isinstance(stmt, ast.FunctionDef) and stmt.name.startswith("test_") and stmt.name != "test_"
        return named and stmt in tree.body

    def _refuse(self, tree: ast.Module) -> None:
        """Report everything that has no place in a check file."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._say(node, f"class {node.name!r}: check files hold functions only — move it to a helper file")
            elif isinstance(node, ast.Attribute | ast.Name) and (reason := _FORBIDDEN.get(self._full_name(node))):
                self._say(node, f"`{self._full_name(node)}` has no place in a check file: {reason}")
        for name, stmt in names_bound(tree):
            # pytest takes every function whose name starts with "test", wherever the module got it from
            collected = name.startswith("test" if isinstance(stmt, _FUNCTIONS) else "test_")
            if name == "pytestmark":
                self._say(stmt, "`pytestmark` has no place in a check file — put the marks on the functions")
            elif collected and not isinstance(stmt, ast.ClassDef) and not self._is_check(stmt, tree):
                told = "looks like a check, but is no plain function test_<name> at the top level"
                self._say(stmt, f"{name!r} {told} — make it one, or rename it")

    def _full_name(self, node: ast.expr) -> str:
        """``pytest.mark.check`` for any way to write it; "" for what is not a dotted name."""
        if isinstance(node, ast.Attribute):
            owner = self._full_name(node.value)
            return owner and f"{owner}.{node.attr}"
        return self.imported.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def _function(self, node: ast.FunctionDef) -> None:
        """Add one check to what was found, and tell every mistake in it."""
        title = (ast.get_docstring(node) or "").partition("\n")[0].strip()
        if not title:
            self._say(node, f"{node.name!r} has no title — say in its docstring's first line what must hold")
        marks: dict[str, list[ast.expr]] = {"check": [], "parametrize": [], "filterwarnings": []}
        for decorator in node.decorator_list:
            name = self._full_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            mark = name.removeprefix("pytest.mark.")
            if mark in marks:
                marks[mark].append(decorator)
            elif mark != name and name not in _FORBIDDEN:
                self._say(decorator, f"unknown mark {mark!r}{did_you_mean(mark, marks) or ' — remove it'}")
        self._arguments(node, marks["parametrize"])
        for again in marks["check"][1:]:
            self._say(again, f"{node.name!r} has a second `check` mark — remove one")

        name = node.name.removeprefix("test_")
        if not marks["check"]:
            self._say(node, f'{node.name!r} has no `check` mark — add @pytest.mark.check("<exercise>") to it')
        exercise, needs, device = self._check_mark(marks["check"][0]) if marks["check"] else (None, (), "cpu")
        if exercise is None:
            self.found.unmarked.add(name)
        else:
            place = (self.file, node.lineno, self.hidden)
            self.found.checks.append(CheckFunction(name, exercise, title, *place, needs, device))

    def _check_mark(self, mark: ast.expr) -> tuple[str | None, tuple[str, ...], Literal["cpu", "cuda"]]:
        """Exercise (None where it cannot be read), needs and device of a ``check`` mark."""
        call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
        exercise = _literal(call.args[0]) if len(call.args) == 1 else None
        if not isinstance(exercise, str):
            told = "`check` takes one exercise, a literal string"
            self._say(mark, f'{told} — write @pytest.mark.check("<exercise>")')
            exercise = None
        needs: tuple[str, ...] = ()
        device: Literal["cpu", "cuda"] = "cpu"
        for keyword in call.keywords:
            value = _literal(keyword.value)
            if keyword.arg == "needs":
                needs = _texts(value) or ()
                if _texts(value) is None:
                    self._say(keyword.value, '`needs` is not a literal list of names — write needs=["…"]')
            elif keyword.arg == "device":
                device = "cuda" if value == "cuda" else "cpu"
                if value != device:
                    near = did_you_mean(str(value), ("cpu", "cuda")) or " — write one of them"
                    self._say(keyword.value, f'`device` is neither "cpu" nor "cuda"{near}')
            else:
                name = keyword.arg or "**"
                near = did_you_mean(name, ("needs", "device")) or " — it knows `needs` and `device`"
                self._say(keyword.value, f"`check` does not know {name!r}{near}")
        return exercise, needs, device

    def _arguments(self, node: ast.FunctionDef, parametrized: list[ast.expr]) -> None:
        """Compare what the function asks for with what there is."""
        given = [self._parametrize(mark) for mark in parametrized]
        bound = [name for names in given for name in names or ()]
        known = {"student", "reference", *bound}
        if len(known) < len(bound) + 2:
            twice = sorted(name for name in known if [*bound, "student", "reference"].count(name) > 1)
            self._say(node, f"{node.name!r} gets {', '.join(map(repr, twice))} twice — rename what is parametrized")
        arguments = node.args
        plain = [*arguments.posonlyargs, *arguments.args]
        asked = plain[: len(plain) - len(arguments.defaults)]  # pytest fills in nothing that has a default
        asked += [arg for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if not default]
        names = {arg.arg for arg in asked}
        unknown = [] if None in given else [arg for arg in asked if arg.arg not in known]
        for arg in unknown:
            advice = " — a check may ask for `student`, `reference` and its parametrized values"
            near = did_you_mean(arg.arg, sorted(known - names)) or advice
            self._say(arg, f"{node.name!r} asks for an unknown {arg.arg!r}{near}")
        for name in sorted(set(bound) - names):
            told = f"{node.name!r} has no argument {name!r}, which is parametrized"
            self._say(node, f"{told}{did_you_mean(name, sorted(names - known)) or ' — add it'}")
        if "student" not in names and not did_you_mean("student", [arg.arg for arg in unknown]):
            told = "does not ask for `student`: it would pass whatever is handed in"
            self._say(node, f"{node.name!r} {told} — call the student's function")

    def _parametrize(self, mark: ast.expr) -> tuple[str, ...] | None:
        """The names that a parametrize mark binds; None where they cannot be read."""
        call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
        given = dict(zip(("argnames", "argvalues", "indirect"), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        names = _literal(given["argnames"]) if "argnames" in given else None
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",") if name.strip()]
        values = given.get("argvalues")
        if isinstance(values, ast.List | ast.Tuple) and not values.elts:
            self._say(mark, "`parametrize` without values: pytest would skip the check — give it some")
        if "indirect" in given:
            self._say(mark, "`indirect` has no place here: there are no fixtures to feed — remove it")
        if not _texts(names):
            self._say(mark, "the names in `parametrize` are not literals — write them out")
        return _texts(names) or None


def _literal(node: ast.expr) -> object:
    """The value of a literal, None for everything else."""
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value


def _texts(value: object) -> tuple[str, ...] | None:
    """A list or tuple of strings as a tuple; None for anything else."""
    texts = value if isinstance(value, list | tuple) else (None,)
    return tuple(texts) if all(isinstance(text, str) for text in texts) else None
