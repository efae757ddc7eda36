"""Forbidden library calls in a student's file, found by reading it: nothing is imported or run.

A name counts as torch's only if every binding that its place can see says so. Functions see the top level as it is once
the file is loaded; the top level and class bodies see what is bound above them. What the text alone cannot prove, such
as the methods of a parameter, is left to those who watch the file run.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import attrgetter
from typing import NamedTuple

from grader.source import parse

__all__ = ["Call", "forbidden_calls"]

_STARS = {  # what `import *` gives of the names that losses forbid, and of the way to them
    "torch": "Tensor binary_cross_entropy_with_logits log_softmax logcumsumexp logsumexp softmax",
    "torch.masked": "log_softmax logsumexp softmax softmin",
    "torch.nn": "functional AdaptiveLogSoftmaxWithLoss BCELoss BCEWithLogitsLoss CrossEntropyLoss"
    " LinearCrossEntropyLoss LogSoftmax NLLLoss NLLLoss2d Softmax Softmax2d Softmin",
    "torch.nn.functional": "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy gumbel_softmax"
    " linear_cross_entropy log_softmax nll_loss softmax softmin",
    "torch.special": "log_softmax logsumexp softmax",
}
_SPELLING = re.compile(  # finds the operator in _safe_softmax, special_logsumexp, nll_loss2d_forward, NLLLoss2d, exp_
    r"_*(?:special_|gumbel_|linear_|Linear|Adaptive(?=Log)|(?<=_)(?:masked|safe|sparse|nested_tensor)_)?"
    r"(.+?)(?:_loss|(?:With)?Loss)?(?:2d|_nd)?(?:_forward|_with_shape)?_*"
)
_OTHERS = re.compile(r"torch\.ops\.(?!aten\b)")  # operators of other libraries, perhaps the student's own
_LONGEST = 200  # characters of a dotted name: torch has none as long, and aliases of aliases could fill the memory

_AT = attrgetter("at")
_Use = tuple[tuple[int, int], str]  # where, and which dotted name below torch


@dataclass(frozen=True)
class Call:
    """A forbidden use: the name as the assignment lists it, the line, and the dotted name that stands there."""

    name: str
    line: int
    written: str


def forbidden_calls(source: str, exercises: Mapping[str, Sequence[str]]) -> dict[str, Call]:
    """The first forbidden use of each exercise that has one; ``exercises`` maps its function to the forbidden names.

    Looked through is what the function reaches: its body, defaults and decorators, and every function, class and
    assignment of the top level that it names, directly or by way of others. To name a forbidden function is to use
    it. A file that does not parse gives {}. Never raises.
    """
    if not exercises:
        return {}
    try:
        module = _Module(parse(source))
    except (SyntaxError, RecursionError, MemoryError):
        return {}
    found = {}
    for exercise, names in exercises.items():
        listed = {_plain(name): name for name in reversed(names)}
        uses = [(at, use) for at, path in module.reached(exercise) if (use := module.forbidden(path, listed))]
        if uses:
            (line, _), written = min(uses)
            found[exercise] = Call(listed[_plain(written.rpartition(".")[2])], line, written)
    return found


def _copies_a_name(decorator: ast.expr) -> bool:
    """`functools.wraps(f)` gives a function the name and the docstring of another, and calls nothing."""
    match decorator:
        case ast.Call(ast.Name("wraps") | ast.Attribute(attr="wraps")):
            return True
    return False


def _plain(name: str) -> str:
    """One word for all spellings of an operator."""
    spelled = _SPELLING.fullmatch(name)
    word = (spelled[1] if spelled else name).replace("_", "").lower()
    return word.replace("bce", "binarycrossentropy").replace("softmin", "softmax")


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


@dataclass(eq=False)
class _Scope:
    kind: type[ast.AST]  # Module, ClassDef, comprehension; Lambda for every function
    outer: _Scope | None = None  # where names are looked for next
    names: dict[str, list[_Binding]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)  # names declared global or nonlocal


class _Place(NamedTuple):
    """Where code stands."""

    scope: _Scope
    mentions: list[tuple[ast.expr, _Place]]  # what is named in this statement of the top level
    sure: bool  # it runs whenever the file does


@dataclass(eq=False)
class _Binding:
    at: tuple[int, int]  # line and column from which on it holds
    place: _Place
    value: ast.expr | str | None  # an expression, or a dotted name below torch
    earlier: _Binding | None = None  # what may hold instead
    means: str | None = None  # the dotted name on which all of them agree


class _Module:
    """What the names of a file mean. Stacks instead of recursion: code may be nested deeper than Python's own calls."""

    def __init__(self, tree: ast.Module) -> None:
        self._top = _Scope(ast.Module)
        self._scopes = [self._top]  # outer ones before inner ones
        self._unclear: set[str] = set()  # names that are bound from within other scopes, nobody knows when
        self._masked = (0, 0)  # up to here, an `import *` that nobody can look into may have replaced any name
        self._stored: list[tuple[ast.expr, _Place]] = []  # attributes that the file itself assigns to
        self._known: dict[int, tuple[list[_Use], list[_Binding]]] = {}  # by the identity of mentions, looked up once
        self._stack: list[tuple[ast.AST, _Place]] = [(tree, _Place(self._top, [], sure=True))]
        while self._stack:
            node, place = self._stack.pop()
            if isinstance(node, ast.stmt):
                self._statement(node, place._replace(mentions=[]) if place.scope is self._top else place)
            else:
                self._part(node, place)
        for scope in self._scopes:
            self._settle(scope)
        self._replaced = {self._path(node, place) for node, place in self._stored}

    def reached(self, name: str) -> list[_Use]:
        """All of torch that the top level's ``name`` mentions, and whatever that mentions, and so on."""
        waiting = self._top.names.get(name, [])[-1:]
        found = [(binding.at, binding.means) for binding in waiting if binding.means]  # the exercise may be an import
        seen: set[object] = set()
        while waiting:
            binding = waiting.pop()
            mentions = binding.place.mentions
            uses, needed = self._looked_up(mentions) if id(mentions) not in seen else ([], [])
            seen |= {binding, id(mentions)}
            found += uses
            waiting += [other for other in (*needed, binding.earlier) if other and other not in seen]
        return found

    def _looked_up(self, mentions: list[tuple[ast.expr, _Place]]) -> tuple[list[_Use], list[_Binding]]:
        if id(mentions) not in self._known:
            uses = [(_end(node), path) for node, place in mentions if (path := self._path(node, place))]
            needed = [self._find(node, place) for node, place in mentions if isinstance(node, ast.Name)]
            self._known[id(mentions)] = uses, [*filter(None, needed)]
        return self._known[id(mentions)]

    def forbidden(self, path: str, listed: Mapping[str, str]) -> str:
        """The part of a dotted name that is forbidden, or ""; what the file itself puts there is not torch's."""
        written, *steps = path.split(".")
        for step in steps:
            written += f".{step}"
            if written in self._replaced or _OTHERS.match(written):
                break
            if _plain(step) in listed and (step.islower() or written.startswith("torch.nn.")):  # Tensor is not tensor
                return written
        return ""

    def _find(self, name: ast.Name, place: _Place) -> _Binding | None:
        """The last binding of a name that code there can see."""
        scope: _Scope | None = place.scope
        until = (name.lineno, name.col_offset)
        while scope:
            bound = scope.names.get(name.id, [])
            count = bisect_right(bound, until, key=_AT) if scope.kind in (ast.Module, ast.ClassDef) else len(bound)
            if count:
                return bound[count - 1]
            until = (sys.maxsize, 0) if scope.kind is ast.Lambda else until  # a function runs later
            scope = scope.outer
        return None

    def _path(self, node: ast.expr, place: _Place) -> str | None:
        """The dotted name below torch that an expression certainly is."""
        steps: list[str] = []
        while not isinstance(node, ast.Name):
            match node:
                case ast.Attribute(base, step):
                    pass
                case ast.Call(ast.Name("getattr") as name, [base, ast.Constant(str(step)), *_]):
                    if self._find(name, place) or not step.isidentifier():
                        return None
                case _:
                    return None
            steps.append(step)
            node = base
        binding = self._find(node, place)
        path = ".".join([binding.means, *reversed(steps)]) if binding and binding.means else ""
        return path if 0 < len(path) < _LONGEST else None

    def _settle(self, scope: _Scope) -> None:
        """Decide what each name of a scope means, when those around it are settled."""
        for name, bound in scope.names.items():
            bound.sort(key=_AT)
            for before, binding in pairwise(bound):
                binding.earlier = None if binding.place.sure else before
            for binding in bound:
                if name in self._unclear or (scope is self._top and binding.at < self._masked):
                    binding.value = None
        for binding in sorted(chain(*scope.names.values()), key=_AT):
            value = binding.value
            means = self._path(value, binding.place) if isinstance(value, ast.expr) else value
            binding.means = means if not binding.earlier or binding.earlier.means == means else None

    def _push(self, nodes: Iterable[ast.AST | None], place: _Place) -> None:
        self._stack += [(node, place) for node in reversed([*nodes]) if node]  # `global x` is read before `x = …`

    def _bind(self, name: str, node: ast.AST, place: _Place, value: ast.expr | str | None = None) -> None:
        if name not in place.scope.elsewhere:
            place.scope.names.setdefault(name, []).append(_Binding(_end(node), place, value))

    def _enter(self, kind: type[ast.AST], nodes: Iterable[ast.AST | None], place: _Place) -> None:
        outer = place.scope.outer if place.scope.kind is ast.ClassDef else place.scope  # names of a class stay in it
        self._scopes.append(_Scope(kind, outer))
        self._push(nodes, place._replace(scope=self._scopes[-1], sure=False))

    def _function(self, given: ast.arguments, body: Sequence[ast.AST], place: _Place) -> None:
        self._push([*given.defaults, *given.kw_defaults], place)
        names = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        self._enter(ast.Lambda, [*names, *body], place)

    def _statement(self, node: ast.stmt, place: _Place) -> None:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                self._bind(name, node, place)
                self._push([other for other in node.decorator_list if not _copies_a_name(other)], place)
                self._function(node.args, node.body, place)
            case ast.ClassDef(name):
                self._bind(name, node, place)
                self._push([*node.decorator_list, *node.bases, *node.keywords], place)
                self._enter(ast.ClassDef, node.body, place)
            case ast.Import() | ast.ImportFrom():
                self._import(node, place)
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
                pairs = zip(names, values, strict=True)
                self._push([ast.copy_location(ast.Assign([name], value), node) for name, value in pairs], place)
            case ast.Assign([ast.Name(name)], value):
                self._bind(name, node, place, value)
                self._push([value], place)
            case ast.AnnAssign(target, value=value):
                self._push([ast.copy_location(ast.Assign([target], value or ast.Constant(None)), node)], place)
            case ast.Global(names) | ast.Nonlocal(names):
                self._unclear.update(names)
                place.scope.elsewhere.update(names)
            case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")])):
                self._push(node.orelse, place)  # a submission is imported
            case _:  # it may run in part or not at all; and with `+=`, the value before counts as well
                self._push(ast.iter_child_nodes(node), place._replace(sure=False))

    def _import(self, node: ast.Import | ast.ImportFrom, place: _Place) -> None:
        origin = "." * node.level + (node.module or "") + "." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if alias.name == "*":
                for name in _STARS.get(origin[:-1], "").split():
                    self._bind(name, alias, place, origin + name)
                if origin.partition(".")[0] not in {"torch", *sys.stdlib_module_names}:
                    self._masked = _end(alias)
            else:
                whole = origin + (alias.name if origin or alias.asname else alias.name.partition(".")[0])
                known = whole if whole.partition(".")[0] == "torch" else None
                self._bind(alias.asname or whole.removeprefix(origin), alias, place, known)

    def _part(self, node: ast.AST, place: _Place) -> None:
        """An expression, or a part of a statement that is neither."""
        match node:
            case ast.Name(ctx=ast.Load()):
                place.mentions.append((node, place))
            case ast.arg(name):
                self._bind(name, node, place)
            case ast.Attribute(owner):
                (place.mentions if isinstance(node.ctx, ast.Load) else self._stored).append((node, place))
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                self._push([owner], place)
            case ast.Lambda(arguments, body):
                self._function(arguments, [body], place)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                first, *others = node.generators
                made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                self._push([first.iter], place)
                self._enter(ast.comprehension, [first.target, *first.ifs, *others, *made], place)
            case ast.NamedExpr(target, value):
                outer = place.scope
                while outer.outer and outer.kind is ast.comprehension:
                    outer = outer.outer
                self._bind(target.id, node, _Place(outer, place.mentions, sure=False), value)
                self._push([value], place)
            case _:
                match node:
                    case ast.Name(name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                        self._bind(name, node, place)
                    case ast.MatchStar(str(name)) | ast.MatchMapping(rest=str(name)):
                        self._bind(name, node, place)
                    case ast.Call(ast.Name("getattr")):
                        place.mentions.append((node, place))
                    case ast.Call(ast.Name("setattr"), [base, ast.Constant(str(step)), *_]):
                        self._stored.append((ast.Attribute(base, step), place))
                    case ast.Call(ast.Name(step) | ast.Attribute(attr=step)) if (
                        place.scope is self._top and step.islower()
                    ):
                        self._push([*node.args, *node.keywords], place)  # called while loading: a constant comes of it
                        return
                self._push(ast.iter_child_nodes(node), place)
