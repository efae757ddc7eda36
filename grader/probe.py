"""Probes: calls with public inputs whose answers tell mistakes apart, and the asking of them.

An assignment's ``probes.py`` (trusted, never shipped) defines ``PROBES``, exercise → name → probe:

    from grader.probe import call, vjp

    PROBES = {"half": {"odd": call(torch.tensor([1.0, 3.0])), "slope": vjp(torch.tensor([2.0]))}}

What they ask goes into ``signatures.json`` beside it, together with the answers of the solution and of every mistake
of the gallery; whoever asks a submission afterwards (a grading slot, a student's machine) reads that file only.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from grader import wire
from grader.describe import call_text
from grader.errors import SpecError
from grader.handle import Handle, exception_word
from grader.model import Answer, CheckFailure, Exercise, Part, Probe, strict_number
from grader.plain import printable
from grader.reference import load_module

__all__ = ["KEPT", "UNWRITTEN", "ask", "call", "hvp", "read_probes", "vjp", "with_inputs"]

KEPT = 64  # elements of a tensor that an answer holds: a probe is small, or its answer is
PARTS = 32  # tensors and values of one answer
TEXT = 80  # characters of a text or a key: a submission chooses them, and every part repeats its keys
EXACT = 2**53  # a whole number beyond it is kept as text: a float cannot tell it from its neighbours, or hold it
LOST = ("timeout", "crash", "output", "load", "memory")  # after one of these the rest of an exercise is not asked
UNWRITTEN = {"missing", "not_implemented", "forbidden"}  # kinds of failure that are no mistake of numerics
DEFAULT_LIMIT = 16.0  # eps: honest forms differ by up to 5 (numerics of log-sum-exp), mistakes by thousands


class _Draft:
    """A probe that does not know its exercise and name yet."""

    def __init__(self, op: str, args: tuple[Any, ...], limit: float, more: dict[str, Any]) -> None:
        self.request = {"op": op, "args": args, **more}
        self.limit = limit


def call(*args: Any, limit: float = DEFAULT_LIMIT, **kwargs: Any) -> _Draft:
    """The value. ``limit``: answers count as equal within ``limit · eps · (the sizes that meet in them)``."""
    return _Draft("call", args, limit, {"kwargs": kwargs})


def with_inputs(*args: Any, limit: float = DEFAULT_LIMIT, **kwargs: Any) -> _Draft:
    """The value, and the arguments after the call: for functions that write into what they are given."""
    return _Draft("with_inputs", args, limit, {"kwargs": kwargs})


def vjp(
    *args: Any,
    wrt: tuple[int, ...] = (0,),
    cotangent: torch.Tensor | None = None,
    limit: float = DEFAULT_LIMIT,
    **kwargs: Any,
) -> _Draft:
    """The value and its gradients, as `student.f.vjp` in a check."""
    return _Draft("vjp", args, limit, {"kwargs": kwargs, "wrt": wrt, "cotangent": cotangent})


def hvp(
    *args: Any, wrt: int = 0, vector: torch.Tensor | None = None, limit: float = DEFAULT_LIMIT, **kwargs: Any
) -> _Draft:
    """The gradient and the Hessian times a vector, as `student.f.hvp` in a check."""
    return _Draft("hvp", args, limit, {"kwargs": kwargs, "wrt": wrt, "vector": vector})


def read_probes(folder: Path, exercises: Iterable[Exercise]) -> tuple[Probe, ...]:
    """What ``probes.py`` of an assignment folder asks, in its order; nothing without the file. Raises SpecError."""
    path = folder / "probes.py"
    if not path.exists():
        return ()
    table = getattr(load_module(path, "probes"), "PROBES", None)
    known = {exercise.id for exercise in exercises}
    problems, probes = [], []
    if not isinstance(table, dict):
        raise SpecError([f"{path} defines no dict PROBES — exercise, name and probe, see docs/assignments.md"])
    for exercise, drafts in table.items():
        if exercise not in known or not isinstance(drafts, dict):
            problems.append(f"{path}: {exercise!r} is no exercise with a dict of probes")
            continue
        for name, draft in drafts.items():
            if not isinstance(draft, _Draft):
                problems.append(f"{path}: {exercise}/{name} is no probe — make it with call, vjp, hvp or with_inputs")
                continue
            try:
                probes.append(_probe(exercise, name, draft))
            except wire.ProtocolError as error:
                problems.append(f"{path}: {exercise}/{name} cannot be sent: {error}")
    if problems:
        raise SpecError(problems)
    return tuple(probes)


def _probe(exercise: str, name: str, draft: _Draft) -> Probe:
    request = wire.pack({"name": exercise, **draft.request})
    args, kwargs = draft.request["args"], draft.request["kwargs"]
    return Probe(
        id=f"{exercise}/{name}",
        exercise=exercise,
        call=call_text(exercise, args, kwargs),
        request=base64.b64encode(request).decode(),
        digest=hashlib.sha256(request).hexdigest()[:12],
        limit=draft.limit,
        scale=max(_sizes([*args, *kwargs.values()]), default=0.0),
    )


def _sizes(value: Any) -> Iterator[float]:
    """The largest finite magnitude of each floating-point tensor or number."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        wide = value.detach().to_dense().double().abs()
        yield wide[wide.isfinite()].max().item() if wide.isfinite().any() else 0.0
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _sizes(item)
    elif isinstance(value, float) and math.isfinite(value):
        yield abs(value)


def ask(handle: Handle, probes: Iterable[Probe]) -> dict[str, Answer]:
    """Probe id → what the submission answers. Once it hangs or dies, its remaining probes of that exercise are
    answered by that word, for each of them could cost as much again."""
    answers: dict[str, Answer] = {}
    lost: dict[str, str] = {}
    for probe in probes:
        if probe.exercise in lost:
            answers[probe.id] = Answer(lost[probe.exercise], digest=probe.digest)
            continue
        handle.begin(probe.id, probe.exercise)
        request = wire.unpack_frame(base64.b64decode(probe.request))
        try:
            op, name, args, kwargs = [request.pop(key) for key in ("op", "name", "args", "kwargs")]
            reply = handle.request(op, name, args, kwargs, **request)
        except CheckFailure as failure:
            answers[probe.id] = Answer(failure.kind, digest=probe.digest)
            if failure.kind in LOST:
                lost[probe.exercise] = failure.kind
            continue
        answers[probe.id] = _answer(reply, probe.digest)
    return answers


def _answer(reply: Mapping[str, Any], digest: str) -> Answer:
    match reply:
        case {"value": value}:
            parts = dict(zip(range(PARTS), _parts("value", value), strict=False))
            return Answer("value", dict(parts.values()), digest)
        case {"raised": {"builtins": builtins}}:
            return Answer(f"raised {exception_word(builtins)}", digest=digest)
        case {"missing": _}:
            return Answer("missing", digest=digest)
    return Answer("unusable", digest=digest)


def _parts(path: str, value: Any) -> Iterator[tuple[str, Part]]:
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        flat = value.detach().flatten()[:KEPT].tolist()
        yield path, Part(dtype, tuple(value.shape), tuple(_plain(number, value.dtype) for number in flat))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _parts(f"{path}.{index}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(f"{path}.{printable(str(key)[:TEXT])}", item)
    else:
        yield path, Part(type(value).__name__, (), (_plain(value, torch.float64),))


def _plain(value: Any, dtype: torch.dtype) -> float | str:
    """As JSON may hold it, in as many digits as ``dtype`` needs."""
    if not isinstance(value, (int, float)) or (isinstance(value, int) and abs(value) > EXACT):
        return printable(str(value)[:TEXT])
    if isinstance(value, float) and dtype is not torch.float64 and math.isfinite(value):
        value = float(f"{value:.9g}")
    return strict_number(float(value))
