"""From answers to the name of a mistake. Pure: no torch, no clock; the same answers always give the same names.

A submission's answers to an exercise's probes are compared with those of every mistake in the gallery, in three steps.
The first two must leave exactly one candidate, for no name is better than a wrong one:

1. the same answers, number for number within the probe's tolerance;
2. the same pattern: each number right, zero, positive, negative, nan or ±inf as in one of the mistake's variations,
   and between theirs. This finds the mistake when it was made with another constant (another epsilon, another clamp);
3. several mistakes at once, as in a first draft: each shows where the others are right, and together they explain
   every answer. Named is what is in every explanation that needs so few.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from grader.errors import SpecError, UsageError
from grader.model import Answer, MistakeFound, Part, Probe, Signature, Signatures

__all__ = ["SCHEMA", "SIGNATURES", "diagnose", "differ", "no_signatures", "read_signatures"]

SIGNATURES = "signatures.json"
SCHEMA = 1
MOST = 5  # mistakes at once; more are a draft that the first failing check helps best
VALUES = {"value", "value.0"}  # where the value of the function stands in an answer; beside it stand its gradients
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def no_signatures() -> Signatures:
    """Of an assignment without probes or without a gallery: nothing is asked, nothing is named."""
    return Signatures(SCHEMA, (), {}, ())


def read_signatures(folder: Path) -> Signatures:
    """The signatures beside an assignment or in a release; none without the file. Raises UsageError or SpecError."""
    path = folder / SIGNATURES
    try:
        signatures = msgspec.json.decode(path.read_bytes(), type=Signatures)
    except FileNotFoundError:
        return no_signatures()
    except (OSError, msgspec.MsgspecError) as error:
        raise SpecError(
            [f"{path} cannot be read: {error} — remove it and run `grader verify`; at home, get a fresh copy"]
        ) from None
    if signatures.schema != SCHEMA:
        raise UsageError(f"{path} has schema {signatures.schema}, this grader reads {SCHEMA} — make it anew")
    return signatures


def diagnose(answers: Mapping[str, Answer], signatures: Signatures, exercises: Iterable[str]) -> list[MistakeFound]:
    """The mistakes that explain the answers, exercise by exercise; none where nothing fits, or too much does.

    ``exercises``: those that lost points. An exercise of which a probe's answer is missing, or answers another version
    of the probe, is left out.
    """
    found = []
    for exercise in exercises:
        probes = [probe for probe in signatures.probes if probe.exercise == exercise]
        if all(probe.id in answers and answers[probe.id].digest == probe.digest for probe in probes):
            found += _explain(answers, probes, signatures)
    return found


def _explain(answers: Mapping[str, Answer], probes: list[Probe], signatures: Signatures) -> list[MistakeFound]:
    right = signatures.right
    wrong = {probe.id for probe in probes if differ(answers[probe.id], right[probe.id], probe)}
    if not wrong:
        return []
    by_id = {probe.id: probe for probe in probes}
    known: dict[str, list[Signature]] = {}  # a mistake, and its variations and other forms
    for mistake in signatures.mistakes:
        if mistake.exercise == probes[0].exercise:
            known.setdefault(mistake.id, []).append(mistake)
    same = [forms for forms in known.values() if any(_same(answers, form, wrong, by_id) for form in forms)]
    if not same:
        same = [forms for forms in known.values() if _alike(answers, forms, right, by_id)]
        if len(same) == 1 and not _between(answers, same[0], right, by_id):
            return []  # like it, but stronger or weaker than any form that is known
    if same:
        return [_found(same[0][0])] if len(same) == 1 else []
    return [_found(known[id_][0]) for id_ in _together(answers, list(itertools.chain(*known.values())), wrong, by_id)]


def _together(
    answers: Mapping[str, Answer], forms: list[Signature], wrong: set[str], probes: Mapping[str, Probe]
) -> list[str]:
    """What several mistakes at once must be, the one that shows most first: those in every smallest explanation."""
    seen = [form for form in forms if form.answers and form.answers.keys() <= wrong]
    seen = [form for form in seen if any(not differ(answers[p], form.answers[p], probes[p]) for p in form.answers)]
    for size in range(2, MOST + 1):
        sets = [chosen for chosen in _covers(seen, wrong, (), size) if _cover(answers, chosen, probes)]
        if sets:
            common = set.intersection(*({form.id for form in chosen} for chosen in sets))
            shows = {form.id: len(form.answers) for form in sets[0]}
            return sorted(common, key=lambda id_: (-shows[id_], id_))
    return []


def _covers(
    forms: list[Signature], wrong: set[str], chosen: tuple[Signature, ...], size: int
) -> Iterator[tuple[Signature, ...]]:
    """All choices of ``size`` mistakes, a form of each, that are wrong wherever the answers are."""
    left = wrong - {probe for form in chosen for probe in form.answers}
    if size == 0 and not left:
        yield chosen
    elif size > 0 and left:
        probe = min(left)
        for form in forms:
            if probe in form.answers and form.id not in [one.id for one in chosen]:
                yield from _covers(forms, wrong, (*chosen, form), size - 1)


def _same(answers: Mapping[str, Answer], form: Signature, wrong: set[str], probes: Mapping[str, Probe]) -> bool:
    """Wrong in the same places, and there the same answers, number for number."""
    return form.answers.keys() == wrong and not any(differ(answers[p], form.answers[p], probes[p]) for p in wrong)


def _alike(
    answers: Mapping[str, Answer], forms: list[Signature], right: Mapping[str, Answer], probes: Mapping[str, Probe]
) -> bool:
    """Each number of each answer is of a kind that it has in one of the mistake's forms.

    Each in another one, if need be: a constant between two listed ones crosses some thresholds of both.
    """
    for id_, probe in probes.items():
        known = _comparable(answers[id_], forms, right[id_], id_)
        mine, kinds = _kinds(answers[id_], right[id_], probe), [_kinds(one, right[id_], probe) for one in known]
        if not known or not all(kind in told for kind, *told in zip(mine, *kinds, strict=True)):
            return False
    return True


def _between(
    answers: Mapping[str, Answer], forms: list[Signature], right: Mapping[str, Answer], probes: Mapping[str, Probe]
) -> bool:
    """Each number lies between those of the mistake's forms, as it must if its constant lies between theirs."""
    if len(forms) == 1:
        return True
    for id_, probe in probes.items():
        known = _comparable(answers[id_], forms, right[id_], id_)
        for path, part in answers[id_].parts.items():
            unit, weight = _unit(part, path, probe)
            for value, *others in zip(part.values, *(answer.parts[path].values for answer in known), strict=True):
                numbers = [other for other in others if isinstance(other, float)]
                if isinstance(value, float):
                    slack = unit * (weight + abs(value))
                    if not min(numbers) - slack <= value <= max(numbers) + slack:
                        return False
    return True


def _comparable(got: Answer, forms: list[Signature], right: Answer, probe: str) -> list[Answer]:
    """What the forms of a mistake answer to ``probe``, as far as it has the outline of ``got``."""
    known = (form.answers.get(probe, right) for form in forms)
    return [answer for answer in known if _outline(answer) == _outline(got)]


def _cover(answers: Mapping[str, Answer], chosen: tuple[Signature, ...], probes: Mapping[str, Probe]) -> bool:
    """Each shows, number for number, where all others are right; where two are wrong, anything may come."""
    places = Counter(probe for form in chosen for probe in form.answers)
    for form in chosen:
        own = [probe for probe in form.answers if places[probe] == 1]
        if not own or any(differ(answers[p], form.answers[p], probes[p]) for p in own):
            return False
    return True


def _found(mistake: Signature) -> MistakeFound:
    return MistakeFound(mistake.id, mistake.exercise, mistake.message)


def differ(got: Answer, known: Answer, probe: Probe) -> bool:
    """Whether two answers to ``probe`` are told apart."""
    if _outline(got) != _outline(known):
        return True
    for path, part in got.parts.items():
        unit, weight = _unit(part, path, probe)
        if not all(_equal(a, b, unit, weight) for a, b in zip(part.values, known.parts[path].values, strict=True)):
            return True
    return False


def _unit(part: Part, path: str, probe: Probe) -> tuple[float, float]:
    """limit · eps, and what the inputs weigh in it: gradients do not grow with the inputs."""
    return probe.limit * EPS.get(part.dtype, 0.0), probe.scale if path in VALUES else 1.0


def _equal(a: float | str, b: float | str, unit: float, weight: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= unit * (weight + max(abs(a), abs(b)))
    return a == b


def _outline(answer: Answer) -> object:
    """What happened, and the dtypes and shapes of what came."""
    return answer.word, {path: (part.dtype, part.shape, len(part.values)) for path, part in answer.parts.items()}


def _kinds(answer: Answer, right: Answer, probe: Probe) -> list[str]:
    """Of what kind each number is: right, zero, positive, negative, nan, inf; nothing is right in another outline."""
    kinds = []
    for path, part in answer.parts.items():
        truth = right.parts.get(path)
        unit, weight = _unit(part, path, probe)
        truths = truth.values if truth is not None and truth.shape == part.shape else ()
        for value, true in itertools.zip_longest(part.values, truths):
            if true is not None and _equal(value, true, unit, weight):
                kinds.append("right")
            elif isinstance(value, str):
                kinds.append(value)
            elif abs(value) <= unit:  # what underflow leaves over is a zero too
                kinds.append("zero")
            else:
                kinds.append("positive" if value > 0 else "negative")
    return kinds
