"""A mistake is named when the answers are its own and nobody else's, and never otherwise."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnose import SCHEMA, SIGNATURES, diagnose, differ, no_signatures, read_signatures
from grader.errors import SpecError, UsageError
from grader.model import Answer, MistakeFound, Part, Probe, Signature, Signatures

LIMIT, SCALE = 16.0, 3.0


def probe(name: str, exercise: str = "f") -> Probe:
    """A probe `f/<name>`; numbers are equal within 16 eps of 3 and their own size."""
    return Probe(f"{exercise}/{name}", exercise, "", "", f"digest of {name}", LIMIT, SCALE)


def tensor(*values: float | str, dtype: str = "float32") -> Part:
    """One tensor of an answer."""
    return Part(dtype, (len(values),), values)


def value(*values: float | str, dtype: str = "float32") -> Answer:
    """The answer of a call."""
    return Answer("value", {"value": tensor(*values, dtype=dtype)})


def shaped(shape: tuple[int, ...], *values: float) -> Answer:
    """The answer of a call, of any shape; not all of its elements need be kept."""
    return Answer("value", {"value": Part("float32", shape, values)})


def gradient(of: float | str, *values: float | str) -> Answer:
    """The answer of a vjp."""
    return Answer("value", {"value.0": tensor(of), "value.1.0": tensor(*values)})


def mistake(id_: str, variation: str = "", /, **answers: Answer) -> Signature:
    """A mistake of `f` that answers some of its probes in its own way."""
    told = {f"f/{name}": answer for name, answer in answers.items()}
    return Signature(id_, "f", f"sentence of {id_}", told, variation)


RIGHT = {"one": value(1.0, 2.0), "two": value(3.0), "slope": gradient(1.0, 0.5, 0.5)}


def signatures(*mistakes: Signature, right: Mapping[str, Answer] = RIGHT) -> Signatures:
    """The gallery of `f`, whose right answers are RIGHT."""
    return Signatures(
        SCHEMA, tuple(map(probe, right)), {f"f/{name}": answer for name, answer in right.items()}, mistakes
    )


def names(known: Signatures, **answers: Answer) -> list[str]:
    """The mistakes named for a submission that answers rightly but for ``answers``."""
    told = {name.removeprefix("f/"): answer for name, answer in known.right.items()} | answers
    digests = {item.id: item.digest for item in known.probes}
    given = {
        f"f/{name}": msgspec.structs.replace(answer, digest=digests.get(f"f/{name}", ""))
        for name, answer in told.items()
    }
    return [found.id for found in diagnose(given, known, ["f"])]


def test_the_same_answers_name_the_mistake() -> None:
    """Number for number, nan and the infinities included; with its exercise and the sentence for the student."""
    known = signatures(
        mistake("a", one=value("nan", "-inf"), slope=gradient("inf", 0.0, 1.0)), mistake("b", two=value(4.0))
    )

    assert names(known, one=value("nan", "-inf"), slope=gradient("inf", 0.0, 1.0)) == ["a"]
    answers = known.right | {"f/two": value(4.0)}
    given = {key: msgspec.structs.replace(answer, digest=f"digest of {key[2:]}") for key, answer in answers.items()}
    assert diagnose(given, known, ["f"]) == [MistakeFound("b", "f", "sentence of b")]


def test_right_answers_name_nothing() -> None:
    """Whatever is in the gallery, also a mistake that no probe tells from the solution."""
    assert names(signatures(mistake("a", one=value(9.0, 9.0)), mistake("silent"))) == []
    assert names(signatures()) == []


def test_a_mistake_must_show_in_exactly_the_probes_that_are_wrong() -> None:
    """One that explains a part of what is wrong, or more than is wrong, is not named."""
    known = signatures(mistake("a", one=value(9.0, 9.0), two=value(9.0)))

    assert names(known, one=value(9.0, 9.0)) == []
    assert names(known, one=value(9.0, 9.0), two=value(9.0), slope=gradient(1.0, 7.0, 7.0)) == []
    assert names(known, one=value(9.0, 9.0), two=value(9.0)) == ["a"]


# Tolerances

STEP = 2.0**-16  # = 16 · 2⁻²³ · (3 + 5): what a float32 near 5 may be off by, where the inputs are as large as 3


def test_values_may_differ_by_what_the_inputs_and_they_themselves_allow() -> None:
    """At both sides of the limit, above and below, against the right answer and against a mistake's."""
    right = {"one": value(5.0)}
    known = signatures(mistake("a", one=value(13.0)), right=right)  # there it is 2⁻¹⁹ · (3 + 13) = 2 · STEP

    for sign in (1, -1):
        assert names(known, one=value(5.0 + sign * STEP * 0.999)) == []
        close, far = value(13.0 + sign * STEP * 1.999), value(13.0 + sign * STEP * 2.001)
        assert names(known, one=close) == ["a"]
        item = probe("one")
        assert not differ(value(5.0 + sign * STEP * 0.999), right["one"], item)
        assert differ(value(5.0 + sign * STEP * 1.001), right["one"], item)
        assert (differ(close, value(13.0), item), differ(far, value(13.0), item)) == (False, True)


def test_gradients_do_not_grow_with_the_inputs() -> None:
    """A gradient is compared in units of one and itself, its value in units of the inputs."""
    unit, item = LIMIT * 2.0**-23, probe("slope")

    assert not differ(gradient(unit * SCALE, 0.0), gradient(0.0, 0.0), item)
    assert differ(gradient(unit * SCALE * 1.001, 0.0), gradient(0.0, 0.0), item)
    assert not differ(gradient(0.0, unit * 0.999), gradient(0.0, 0.0), item)
    assert differ(gradient(0.0, unit * 1.001), gradient(0.0, 0.0), item)


@pytest.mark.parametrize(
    ("dtype", "eps"),
    [("float64", 2.0**-52), ("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7), ("int64", 0.0)],
)
def test_each_dtype_has_its_own_eps(dtype: str, eps: float) -> None:
    """A whole number is equal to itself only."""
    limit = LIMIT * eps * SCALE

    assert not differ(value(limit, dtype=dtype), value(0.0, dtype=dtype), probe("one"))
    assert differ(value(limit * 1.5 or 1e-9, dtype=dtype), value(0.0, dtype=dtype), probe("one"))


@pytest.mark.parametrize(
    ("got", "known"),
    [
        (value(1.0, dtype="float64"), value(1.0)),
        (value(1.0), value(1.0, 1.0)),
        (shaped((), 1.0), shaped((1,), 1.0)),
        (shaped((2, 1), 1.0, 2.0), shaped((2,), 1.0, 2.0)),
        (shaped((65,), *[0.0] * 64), shaped((66,), *[0.0] * 64)),
        (Answer("raised ValueError"), Answer("raised TypeError")),
        (Answer("raised ValueError"), value(1.0)),
        (Answer("missing"), Answer("unusable")),
        (gradient(1.0, 1.0), value(1.0)),
        (Answer("value", {"value": Part("str", (), ("a",))}), Answer("value", {"value": Part("str", (), ("b",))})),
        (Answer("value", {"value.0": tensor(1.0)}), Answer("value", {"value.1": tensor(1.0)})),
        (value("nan"), value(1.0)),
        (value("inf"), value("-inf")),
        (value("inf"), value(1e308)),
        (value("nan"), value("inf")),
    ],
)  # fmt: skip
def test_what_is_told_apart(got: Answer, known: Answer) -> None:
    """Word, structure, dtype, shape and class of number, in both directions; each answer equals itself."""
    assert differ(got, known, probe("one"))
    assert differ(known, got, probe("one"))
    assert not differ(got, got, probe("one"))
    assert not differ(known, known, probe("one"))
    single = signatures(mistake("a", one=known), right={"one": Answer("timeout")})

    assert names(single, one=known) == ["a"]
    assert names(single, one=got) == []


def test_it_does_not_matter_which_answer_comes_first() -> None:
    """The larger of the two sizes counts: 0.4 and 0 are equal in bfloat16, within 16 · 2⁻⁷ · (3 + 0.4) = 0.425."""
    for one, two in itertools.permutations([value(0.4, dtype="bfloat16"), value(0.0, dtype="bfloat16")]):
        assert not differ(one, two, probe("one"))


def test_digests_of_answers_are_not_compared() -> None:
    """The digest says which question was answered, not how."""
    assert not differ(Answer("missing", digest="x"), Answer("missing", digest="y"), probe("one"))


# The same mistake with another constant


def test_another_constant_is_found_by_its_pattern() -> None:
    """Where right, zero, positive, negative, nan, which infinity; an epsilon of 1e-12 is one of 1e-6."""
    known = signatures(mistake("eps", one=value(1.0, 13.8), slope=gradient(1.0, 0.0, "inf")))

    assert names(known, one=value(1.0, 27.6), slope=gradient(1.0, 0.0, "inf")) == ["eps"]
    assert names(known, one=value(1.0, 27.6), slope=gradient(1.0, 0.0, "-inf")) == []
    assert names(known, one=value(1.0, 27.6), slope=gradient(1.0, 0.25, "inf")) == []
    assert names(known, one=value(27.6, 27.6), slope=gradient(1.0, 0.0, "inf")) == []
    assert names(known, one=value(1.0, -27.6), slope=gradient(1.0, 0.0, "inf")) == []
    assert names(known, one=value(1.0, 27.6), slope=gradient(1.0, 0.0, "inf"), two=value(9.0)) == []
    assert names(known, one=value(1.0, 27.6)) == []
    assert names(known, one=value(1.0, "nan"), slope=gradient(1.0, 0.0, "inf")) == []
    assert names(known, one=value(1.0, 27.6, dtype="float16"), slope=gradient(1.0, 0.0, "inf")) == []


def test_what_underflow_leaves_over_is_a_zero() -> None:
    """In a pattern, whatever is below 16 · 2⁻²³ = 1.9073e-6 of one; a little more is a number."""
    known = signatures(mistake("cut", slope=gradient(1.0, 0.0, 7.0)))

    assert names(known, slope=gradient(1.0, -1.9e-6, 8.0)) == ["cut"]
    assert names(known, slope=gradient(1.0, 1.92e-6, 8.0)) == []


def test_a_constant_between_those_that_are_known_is_found() -> None:
    """With variations the numbers must lie between theirs: beyond them it may be another mistake of the same kind."""
    known = signatures(mistake("clamp", one=value(1.0, -88.0)), mistake("clamp", "FLOOR = -16", one=value(1.0, -16.0)))

    assert names(known, one=value(1.0, -30.0)) == ["clamp"]
    assert names(known, one=value(1.0, -88.0)) == names(known, one=value(1.0, -16.0)) == ["clamp"]
    assert names(known, one=value(1.0, -100.0)) == names(known, one=value(1.0, -2.0)) == []
    # 16 · 2⁻²³ · (3 + 88) = 1.736e-4: as much as a number may be off where it is compared with another
    floors = ("", -88.0), ("FLOOR = -16", -16.0)
    two = signatures(*(mistake("clamp", name, one=value(1.0, at), two=value(1.0, at)) for name, at in floors))
    assert names(two, one=value(1.0, -88.00017), two=value(1.0, -30.0)) == ["clamp"]
    assert names(two, one=value(1.0, -88.00018), two=value(1.0, -30.0)) == []


def test_a_constant_between_crosses_thresholds_of_both() -> None:
    """Each number may be as in another one of the forms: still wrong here as in one, and there already right."""
    known = signatures(
        mistake("eps", one=value(0.0, 9.0)), mistake("eps", "EPS = 1", one=value(1.0, 8.0), two=value("nan"))
    )

    assert names(known, one=value(0.0, 8.5), two=value("nan")) == ["eps"]
    assert names(known, one=value(1.0, 8.5)) == ["eps"]
    assert names(known, one=value(0.5, 8.5)) == []  # neither zero nor right
    assert names(known, one=value(0.0, 8.5), two=value("inf")) == []
    assert names(known, one=value(0.0, 8.5), slope=gradient(1.0, 9.0, 9.0)) == []


def test_a_pattern_of_another_shape_has_no_right_elements() -> None:
    """With another shape no element stands beside a right one: numbers are numbers."""
    known = signatures(mistake("sum", one=value(1.0)))

    assert names(known, one=value(7.0)) == ["sum"]
    assert names(known, one=value(0.0)) == []
    assert names(known, one=value(7.0, 7.0, 7.0)) == []


def test_a_pattern_that_two_mistakes_share_names_none() -> None:
    """Unless the numbers are those of one of them."""
    known = signatures(mistake("a", two=value(4.0)), mistake("b", two=value(5.0)))

    assert names(known, two=value(6.0)) == []
    assert names(known, two=value(5.0)) == ["b"]


# Several candidates


def test_a_tie_names_nothing() -> None:
    """Two mistakes that answer alike cannot be told apart, and a guess would be wrong half the time."""
    known = signatures(
        mistake("a", one=value(9.0, 9.0)), mistake("b", one=value(9.0, 9.0)), mistake("c", two=value(0.0))
    )

    assert names(known, one=value(9.0, 9.0)) == []
    assert names(known, one=value(8.0, 8.0)) == []
    assert names(known, two=value(0.0)) == ["c"]


def test_variations_of_a_mistake_are_no_tie() -> None:
    """They are one mistake, exactly or by pattern; their answers may be equal, or differ in where they show."""
    known = signatures(
        mistake("a", one=value(9.0, 9.0)), mistake("a", "EPS = 1", one=value(9.0, 9.0)),
        mistake("a", "EPS = 2", one=value(8.0, 8.0), two=value(0.0)),
    )  # fmt: skip

    assert names(known, one=value(9.0, 9.0)) == ["a"]
    assert names(known, one=value(8.0, 8.0), two=value(0.0)) == ["a"]
    assert names(known, one=value(8.5, 8.5)) == ["a"]


def test_mistakes_of_other_exercises_are_no_candidates() -> None:
    """The same id and answers in another exercise are neither named nor a tie; each exercise is told of its own."""
    other = Signature("a", "g", "sentence of a", {"g/one": value(9.0, 9.0)})
    ours = signatures(mistake("a", one=value(9.0, 9.0)), other)
    known = msgspec.structs.replace(
        ours, probes=(*ours.probes, probe("one", "g")), right=ours.right | {"g/one": value(0.0, 0.0)}
    )
    given = {f"f/{name}": msgspec.structs.replace(RIGHT[name], digest=f"digest of {name}") for name in RIGHT}
    given |= {key: msgspec.structs.replace(value(9.0, 9.0), digest="digest of one") for key in ("f/one", "g/one")}

    assert [(found.id, found.exercise) for found in diagnose(given, known, ["f", "g"])] == [("a", "f"), ("a", "g")]
    assert [found.exercise for found in diagnose(given, known, ["g"])] == ["g"]
    assert diagnose(given, known, []) == []


# Two mistakes at once

PAIR = (
    mistake("a", one=value(9.0, 9.0), slope=gradient(7.0, 7.0, 7.0)),
    mistake("b", two=value(9.0), slope=gradient(8.0, 8.0, 8.0)),
)


def test_two_mistakes_at_once_are_both_named() -> None:
    """Each must show, number for number, where the other is right; where both are wrong, anything may come."""
    known = signatures(*PAIR)
    for slope in (
        gradient(7.0, 7.0, 7.0),
        gradient(8.0, 8.0, 8.0),
        gradient("nan", 0.0, 3.0),
        Answer("raised TypeError"),
    ):
        assert names(known, one=value(9.0, 9.0), two=value(9.0), slope=slope) == ["a", "b"]
    apart = signatures(mistake("a", one=value(9.0, 9.0)), mistake("b", two=value(9.0)))
    assert names(apart, one=value(9.0, 9.0), two=value(9.0)) == ["a", "b"]


def test_a_pair_must_explain_everything_exactly() -> None:
    """A pattern is not enough here, a probe that neither explains is too much, and each must show somewhere alone."""
    known = signatures(*PAIR)
    assert names(known, one=value(8.0, 8.0), two=value(9.0), slope=gradient(0.0, 0.0, 0.0)) == []
    assert names(known, one=value(9.0, 9.0), two=value(8.0), slope=gradient(0.0, 0.0, 0.0)) == []
    assert names(known, one=value(9.0, 9.0), two=value(9.0)) == []  # they would both show in the gradient

    hidden = signatures(mistake("a", one=value(9.0, 9.0), two=value(0.0)), mistake("b", two=value(9.0)))
    assert names(hidden, one=value(9.0, 9.0), two=value(5.0, 5.0)) == []  # b shows nowhere without a


def test_of_several_pairs_only_what_they_share_is_named() -> None:
    """Either of two mistakes beside a third: the third is sure; variations of one mistake make no second pair."""
    twin = mistake("c", two=value(9.0), slope=gradient(0.0, 0.0, 0.0))
    wrong = {"one": value(9.0, 9.0), "two": value(9.0), "slope": gradient(5.0, 5.0, 5.0)}

    assert names(signatures(*PAIR, twin), **wrong) == ["a"]
    varied = msgspec.structs.replace(twin, id="b", variation="EPS = 1")
    for order in itertools.permutations([*PAIR, varied]):
        assert sorted(names(signatures(*order), **wrong)) == ["a", "b"]


def test_variations_of_one_mistake_are_no_pair() -> None:
    """One mistake is not made twice: with two of its forms it is named once, as one with a constant between them."""
    known = signatures(mistake("a", one=value(9.0, 9.0)), mistake("a", "EPS = 1", two=value(9.0)))
    assert names(known, one=value(9.0, 9.0), two=value(9.0)) == ["a"]

    apart = signatures(
        mistake("a", one=value(9.0, 9.0)), mistake("a", "EPS = 1", one=value("nan", "nan"), two=value(9.0))
    )
    assert names(apart, one=value(-9.0, 9.0), two=value(9.0)) == []
    one = mistake("a", one=value(9.0, 9.0), slope=gradient(7.0, 7.0, 7.0))
    both = signatures(one, mistake("a", "EPS = 1", two=value(9.0), slope=gradient(8.0, 8.0, 8.0)))
    assert names(both, one=value(9.0, 9.0), two=value(9.0), slope=gradient("nan", 0.0, 3.0)) == []


def test_one_mistake_is_preferred_to_two() -> None:
    """Where one alone explains everything, nobody asks for a pair; a tie of single ones is not resolved by a pair."""
    both = mistake("both", one=value(9.0, 9.0), two=value(9.0))
    parts = (mistake("a", one=value(9.0, 9.0)), mistake("b", two=value(9.0)))
    wrong = {"one": value(9.0, 9.0), "two": value(9.0)}

    assert names(signatures(*parts, both), **wrong) == ["both"]
    assert names(signatures(*parts, both, msgspec.structs.replace(both, id="twin")), **wrong) == []


# What was asked


@pytest.mark.parametrize("name", RIGHT)
def test_an_exercise_with_a_missing_or_stale_answer_is_left_out(name: str) -> None:
    """Answers to another version of a question, or to none, say nothing; whichever question it is."""
    known = signatures(mistake("a", one=value(9.0, 9.0)), mistake("b", **{name: value(9.0, 9.0)}))
    answers = {**known.right, "f/one": value(9.0, 9.0)}
    given = {key: msgspec.structs.replace(answer, digest=f"digest of {key[2:]}") for key, answer in answers.items()}
    stale = {**given, f"f/{name}": msgspec.structs.replace(given[f"f/{name}"], digest="of another request")}
    missing = {key: answer for key, answer in given.items() if key != f"f/{name}"}

    assert diagnose(stale, known, ["f"]) == diagnose(missing, known, ["f"]) == diagnose({}, known, ["f"]) == []


def test_nothing_is_known_without_probes_or_gallery() -> None:
    """An assignment may come without either."""
    assert diagnose({}, no_signatures(), ["f"]) == []
    assert diagnose({"f/one": value(1.0)}, no_signatures(), ["f", "g"]) == []


# Everything at once: numbers are whole, so equal and unequal is plain to see

NUMBERS: st.SearchStrategy[float | str] = st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, "nan", "inf", "-inf"])
ANSWERS = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=3).map(lambda values: value(*values)),
    st.sampled_from([Answer("raised ValueError"), Answer("missing"), Answer("timeout")]),
)


@st.composite
def galleries(draw: st.DrawFn) -> Signatures:
    """Right answers to some probes, and mistakes that differ from them in some or none."""
    right = {name: draw(ANSWERS) for name in ["p", "q", "r", "s"][: draw(st.integers(1, 4))]}
    mistakes: list[Signature] = []
    for _ in range(draw(st.integers(0, 6))):
        told = {name: draw(ANSWERS) for name in right if draw(st.booleans())}
        own = {name: answer for name, answer in told.items() if answer != right[name]}
        id_ = draw(st.sampled_from("abcd"))
        mistakes.append(mistake(id_, f"EPS = {len(mistakes)}", **own))
    return signatures(*mistakes, right=right)


@st.composite
def submissions(draw: st.DrawFn, of: Signatures) -> dict[str, Answer]:
    """Answers to its probes, some of them right or taken from one of its mistakes."""
    sources = [of.right, *(of.right | one.answers for one in of.mistakes)]
    return {
        item.id.removeprefix("f/"): draw(st.sampled_from([source[item.id] for source in sources]) | ANSWERS)
        for item in of.probes
    }


def numbers_of(answer: Answer, of: Answer) -> tuple[float | str, ...] | None:
    """The numbers of an answer to a call, if it looks like another one from outside."""
    if answer.word != of.word or [part.shape for part in answer.parts.values()] != [p.shape for p in of.parts.values()]:
        return None
    return tuple(number for part in answer.parts.values() for number in part.values)


def sort_of(number: float | str, right: tuple[float | str, ...] | None, at: int) -> str:
    """Right, one of the names, or the sign."""
    if right is not None and number == right[at]:
        return "right"
    return number if isinstance(number, str) else "+" if number > 0 else "-" if number < 0 else "0"


def explains(forms: list[Signature], answers: Mapping[str, Answer], known: Signatures) -> bool:
    """Whether every number is of a sort that one of the forms has there, and between those of all of them."""
    for name, got in answers.items():
        truth = known.right[f"f/{name}"]
        own, right = numbers_of(got, got) or (), numbers_of(truth, got)
        told = [numbers_of(form.answers.get(f"f/{name}", truth), got) for form in forms]
        there = [numbers for numbers in told if numbers is not None]
        if not there:
            return False
        for at, number in enumerate(own):
            if sort_of(number, right, at) not in {sort_of(numbers[at], right, at) for numbers in there}:
                return False
            finite = [n for n in (numbers[at] for numbers in there) if not isinstance(n, str)]
            if len(forms) > 1 and not isinstance(number, str) and not min(finite) <= number <= max(finite):
                return False
    return True


def together(chosen: tuple[Signature, ...], wrong: dict[str, Answer]) -> bool:
    """Different mistakes that cover what is wrong, each with a part where it shows alone and as it is known."""
    places = [probe for one in chosen for probe in one.answers]
    own = [[probe for probe in one.answers if places.count(probe) == 1] for one in chosen]
    return (
        len({one.id for one in chosen}) == len(chosen)
        and set(places) == wrong.keys()
        and all(own)
        and all(one.answers[p] == wrong[p] for one, mine in zip(chosen, own, strict=True) for p in mine)
    )


@settings(max_examples=300, deadline=None)
@given(galleries(), st.data())
def test_what_is_named_explains_the_answers(known: Signatures, data: st.DataObject) -> None:
    """Its answers, or between its forms; or it is one of several that show wherever the answers are wrong."""
    answers = data.draw(submissions(known))
    wrong = {f"f/{name}" for name, answer in answers.items() if answer != known.right[f"f/{name}"]}

    found = names(known, **answers)

    forms = {id_: [one for one in known.mistakes if one.id == id_] for id_ in found}
    exact = {f"f/{name}": answer for name, answer in answers.items() if f"f/{name}" in wrong}
    alone = len(found) == 1 and (
        any(one.answers == exact for one in forms[found[0]]) or explains(forms[found[0]], answers, known)
    )
    if found and not alone:
        assert len(forms) == len(found)
        assert any(
            set(found) <= {one.id for one in chosen} and together(chosen, exact)
            for size in (2, 3, 4, 5)
            for chosen in itertools.combinations(known.mistakes, size)
        )
    if not wrong:
        assert found == []


@settings(max_examples=200, deadline=None)
@given(galleries())
def test_a_mistakes_own_answers_name_it_or_nothing(known: Signatures) -> None:
    """It is named unless another one answers exactly alike, or it answers as the solution does."""
    for one in known.mistakes:
        found = names(known, **{name[2:]: answer for name, answer in one.answers.items()})
        twins = {other.id for other in known.mistakes if other.answers == one.answers}
        assert found == ([one.id] if twins == {one.id} and one.answers else [])


@settings(max_examples=200, deadline=None)
@given(galleries(), st.data(), st.randoms(use_true_random=False))
def test_the_order_of_mistakes_does_not_matter(known: Signatures, data: st.DataObject, order: random.Random) -> None:
    """Nor does that of the probes, or of the answers."""
    answers = data.draw(submissions(known))
    mistakes, probes = list(known.mistakes), list(known.probes)
    order.shuffle(mistakes)
    order.shuffle(probes)
    shuffled = msgspec.structs.replace(known, mistakes=tuple(mistakes), probes=tuple(probes))

    assert sorted(names(shuffled, **dict(reversed(answers.items())))) == sorted(names(known, **answers))


@settings(max_examples=200, deadline=None)
@given(galleries(), st.data())
def test_some_of_the_answers_name_nothing(known: Signatures, data: st.DataObject) -> None:
    """With only a part of the probes answered, a mistake that shows in the others cannot be excluded."""
    answers = data.draw(submissions(known))
    asked = data.draw(st.sets(st.sampled_from(sorted(answers)), max_size=len(answers) - 1))
    digests = {item.id: item.digest for item in known.probes}
    given = {f"f/{n}": msgspec.structs.replace(answers[n], digest=digests[f"f/{n}"]) for n in asked}

    assert diagnose(given, known, ["f"]) == []


# The file


def test_signatures_are_read_as_written(tmp_path: Path) -> None:
    """JSON loses nothing, and names the same."""
    known = signatures(mistake("a", one=value(1.0, "-inf"), two=Answer("missing")))
    (tmp_path / SIGNATURES).write_bytes(msgspec.json.encode(known))

    again = read_signatures(tmp_path)

    assert again == known
    assert names(again, one=value(1.0, "-inf"), two=Answer("missing")) == ["a"]


def test_no_file_is_no_signatures(tmp_path: Path) -> None:
    """Nothing is asked and nothing is named."""
    assert read_signatures(tmp_path) == no_signatures() == Signatures(SCHEMA, (), {}, ())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff", b'{"schema": 1, "probes": [1]}'])
def test_a_damaged_file_is_told(tmp_path: Path, data: bytes) -> None:
    """With its name and the way out; exit code 2."""
    (tmp_path / SIGNATURES).write_bytes(data)
    with pytest.raises(SpecError) as caught:
        read_signatures(tmp_path)

    assert str(tmp_path / SIGNATURES) in str(caught.value)
    assert "remove it and run `grader verify`" in str(caught.value)
    assert caught.value.exit_code == 2


def test_another_schema_is_told(tmp_path: Path) -> None:
    """A file of a later version is refused as such."""
    (tmp_path / SIGNATURES).write_bytes(msgspec.json.encode(msgspec.structs.replace(no_signatures(), schema=2)))
    with pytest.raises(UsageError, match="has schema 2, this grader reads 1"):
        read_signatures(tmp_path)
