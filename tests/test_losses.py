"""The assignment `losses`: is its truth true, and is its gallery in order?

Truth is held against hand-computed values, identities and Python's `decimal`, never against torch's own losses.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import spec
from grader.forbidden import forbidden_calls
from grader.gallery import read_gallery
from grader.reference import load_module

COURSE = Path(__file__).parent.parent
FOLDER = COURSE / "assignments" / "losses"
ASSIGNMENT = spec.load(FOLDER)
REFERENCE: Any = load_module(FOLDER / "reference.py")
GALLERY = read_gallery(ASSIGNMENT)
INF, NAN = math.inf, math.nan


def decimal_logsumexp(row: list[float]) -> Decimal:
    """log(sum(exp(row))) to 80 digits, straight from the definition: decimal exponents do not overflow here."""
    with localcontext(prec=80):
        return sum((Decimal(value).exp() for value in row), Decimal(0)).ln()


def decimal_softmax(row: list[float]) -> list[float]:
    """exp(row) / sum(exp(row)) to 80 digits."""
    with localcontext(prec=80):
        total = sum((Decimal(value).exp() for value in row), Decimal(0))
        return [float(Decimal(value).exp() / total) for value in row]


def tensor(*values: object) -> torch.Tensor:
    """Values as float64, the dtype of every truth."""
    return torch.tensor(values, dtype=torch.float64)


# The truth of logsumexp


@pytest.mark.parametrize(
    "row",
    [[1.0, 2.0, 3.0], [1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1002.0], [0.0, -20.0], [7.25], [1e4, -1e4, 0.1]],
)
def test_logsumexp_is_what_decimal_finds(row: list[float]) -> None:
    """logsumexp is the definition, computed without a shift in a number system that does not overflow."""
    assert REFERENCE.logsumexp(tensor(*row)).item() == float(decimal_logsumexp(row))


def test_logsumexp_known_values() -> None:
    """Values that can be looked up: log(e + e² + e³), log 50 000, and ties at the end of the range."""
    assert REFERENCE.logsumexp(tensor(1.0, 2.0, 3.0)).item() == pytest.approx(3.4076059644443806, abs=1e-15)
    assert REFERENCE.logsumexp(torch.zeros(50_000)).item() == pytest.approx(math.log(50_000), abs=1e-14)
    assert REFERENCE.logsumexp(tensor(1e308, 1e308)).item() == 1e308
    assert REFERENCE.logsumexp(tensor(3.0, 3.0, 3.0, 3.0)).item() == 3.0 + math.log(4.0)


@pytest.mark.parametrize("count", [999, 1000, 1001, 1500])
def test_long_rows_agree_with_decimal(count: int) -> None:
    """On both sides of a thousand entries, where mpmath gives way to fsum, the value is exact to the last digit."""
    row = [math.sin(7.0 * index) for index in range(count)]
    assert REFERENCE.logsumexp(tensor(*row)).item() == pytest.approx(float(decimal_logsumexp(row)), rel=2e-16)


def test_logsumexp_of_the_infinite() -> None:
    """-inf adds nothing, rows of only -inf or nothing are -inf, +inf beats -inf, nan beats all."""
    rows = tensor([1.0, -INF, 2.0], [-INF, -INF, -INF], [1.0, INF, -INF], [NAN, INF, 0.0])
    values = REFERENCE.logsumexp(rows).tolist()
    assert values[0] == float(decimal_logsumexp([1.0, 2.0]))
    assert values[1:3] == [-INF, INF]
    assert math.isnan(values[3])
    assert REFERENCE.logsumexp(torch.zeros(2, 0)).tolist() == [-INF, -INF]


@pytest.mark.parametrize(
    ("dim", "keepdim", "shape"),
    [(0, False, (3, 4)), (1, True, (2, 1, 4)), (-1, False, (2, 3)), (-1, True, (2, 3, 1)), (-3, True, (1, 3, 4))],
)
def test_logsumexp_shapes(dim: int, keepdim: bool, shape: tuple[int, ...]) -> None:
    """The axis that is summed away goes, or stays with size 1, and each slice is the right one."""
    x = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4)
    got = REFERENCE.logsumexp(x, dim, keepdim)
    flat = [float(decimal_logsumexp(row)) for row in x.movedim(dim, -1).reshape(-1, x.shape[dim]).tolist()]
    assert got.shape == shape
    assert got.flatten().tolist() == flat
    assert REFERENCE.logsumexp_scale(x, dim, keepdim).shape == shape


def test_zero_d_is_itself() -> None:
    """A 0-d tensor is its own logsumexp, and its own gradient is 1."""
    x = torch.tensor(2.5)
    assert REFERENCE.logsumexp(x, -1, True).tolist() == 2.5
    assert REFERENCE.logsumexp_grad(x, 0, torch.tensor(1.0)).tolist() == 1.0


def test_inputs_count_as_rounded() -> None:
    """The truth is that of the numbers the student sees: 0.1 in float16 is 0.0999755859375."""
    half = torch.tensor([0.1, 0.7], dtype=torch.float16)
    assert torch.equal(REFERENCE.logsumexp(half), REFERENCE.logsumexp(tensor(0.0999755859375, 0.7001953125)))


def test_logsumexp_gradient() -> None:
    """The gradient is upstream · softmax, slice by slice, exactly 0 on -inf and in halves at 1e308."""
    x = tensor([1.0, 2.0, 3.0], [1000.0, 999.0, 0.0])
    grad = REFERENCE.logsumexp_grad(x, -1, tensor(1.0, -2.0))
    assert grad[0].tolist() == decimal_softmax([1.0, 2.0, 3.0])
    assert grad[1].tolist() == [-2.0 * p for p in decimal_softmax([1000.0, 999.0, 0.0])]
    assert torch.equal(REFERENCE.logsumexp_grad(x.T, 0, tensor([1.0, -2.0])), grad.T)
    assert REFERENCE.logsumexp_grad(tensor(1e308, -INF, 1e308), 0, torch.tensor(1.0)).tolist() == [0.5, 0.0, 0.5]


def test_logsumexp_hessian() -> None:
    """For two equal logits the Hessian is [[1, -1], [-1, 1]] / 4; shifting all logits never matters."""
    assert REFERENCE.logsumexp_hvp(tensor(0.0, 0.0), tensor(1.0, 0.0)).tolist() == [0.25, -0.25]
    still = REFERENCE.logsumexp_hvp(tensor(0.0, 1.0, 5.0), tensor(3.0, 3.0, 3.0))
    assert still.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-50)  # 60 digits, less what cancels


def test_scale_is_size_and_count() -> None:
    """What an error is measured by: the largest finite |entry| plus log n, and no infinity."""
    assert REFERENCE.logsumexp_scale(tensor(3.0, -7.0, -INF)).item() == 7.0 + math.log(3.0)
    assert REFERENCE.logsumexp_scale(tensor(-INF)).item() == math.log(2.0)


# The truth of cross_entropy


def test_cross_entropy_by_hand() -> None:
    """Two rows of two classes: log(1 + e⁻¹) and log(1 + e⁻²), their sum and their mean."""
    logits, target = tensor([1.0, 2.0], [3.0, 1.0]), torch.tensor([1, 0])
    losses = [math.log1p(math.exp(-1.0)), math.log1p(math.exp(-2.0))]
    assert REFERENCE.cross_entropy(logits, target, -100, "none").tolist() == pytest.approx(losses, rel=1e-15)
    assert REFERENCE.cross_entropy(logits, target, -100, "sum").item() == pytest.approx(sum(losses), rel=1e-15)
    assert REFERENCE.cross_entropy(logits, target).item() == pytest.approx(sum(losses) / 2, rel=1e-15)


def test_cross_entropy_of_confident_rows() -> None:
    """The loss of a very wrong class is the distance of the logits, that of a very right one e to minus it."""
    logits = torch.tensor([[0.0, 200.0], [1e38, -1e38], [1e38, -1e38], [30.0, 0.0]])
    distance = 2.0 * float(logits[1, 0])  # 1e38 as float32 has it
    losses = REFERENCE.cross_entropy(logits, torch.tensor([0, 1, 0, 0]), -100, "none").tolist()
    assert losses == [200.0, distance, 0.0, pytest.approx(math.exp(-30.0), rel=1e-12)]


def test_cross_entropy_ignores() -> None:
    """Ignored targets cost 0, are not counted, and what their logits hold does not matter; nothing left is nan."""
    logits, target = tensor([NAN, 2.0], [3.0, 1.0], [-INF, 1.0]), torch.tensor([7, 0, 0])
    loss = math.log1p(math.exp(-2.0))
    values = REFERENCE.cross_entropy(logits[:2], target[:2], 7, "none").tolist()
    assert values == [0.0, pytest.approx(loss, rel=1e-15)]
    assert REFERENCE.cross_entropy(logits[:2], target[:2], 7).item() == pytest.approx(loss, rel=1e-15)
    assert REFERENCE.cross_entropy(logits, target, 7, "none").tolist()[2] == INF
    assert math.isnan(REFERENCE.cross_entropy(logits[:1], target[:1], 7).item())
    assert REFERENCE.cross_entropy(logits[:1], target[:1], 7, "sum").item() == 0.0
    assert torch.equal(
        REFERENCE.cross_entropy_grad(logits[:2], target[:2], 7, "mean", tensor(1.0))[0], tensor(0.0, 0.0)
    )


def test_classes_are_axis_one() -> None:
    """A picture of pixels is the same as its pixels one by one, and a single sample as a batch of one."""
    logits = torch.sin(torch.arange(2 * 3 * 4 * 5, dtype=torch.float64)).reshape(2, 3, 4, 5)
    target = torch.arange(2 * 4 * 5).remainder(3).reshape(2, 4, 5)
    whole = REFERENCE.cross_entropy(logits, target, -100, "none")
    pixel, label = logits[1, :, 2, 3], target[1, 2, 3]
    alone = float(decimal_logsumexp(pixel.tolist()) - Decimal(float(pixel[label])))
    assert whole.shape == target.shape
    assert whole[1, 2, 3].item() == alone
    assert REFERENCE.cross_entropy(pixel, label, -100, "sum").item() == alone


@pytest.mark.parametrize(("reduction", "weight"), [("none", 1.0), ("sum", 1.0), ("mean", 0.5)])
def test_cross_entropy_gradient(reduction: str, weight: float) -> None:
    """The gradient is softmax - onehot, times upstream, over the number that counts for the mean."""
    row = [1.0, 2.0, 3.0]
    logits, target = tensor(row, row, row), torch.tensor([2, -100, 0])
    grad = REFERENCE.cross_entropy_grad(logits, target, -100, reduction, tensor(3.0).squeeze())
    p = decimal_softmax(row)
    first = [3.0 * weight * (value - (index == 2)) for index, value in enumerate(p)]
    assert grad[0].tolist() == pytest.approx(first, rel=1e-15)
    assert grad[1].tolist() == [0.0, 0.0, 0.0]
    assert grad.sum(1).tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)


def test_cross_entropy_hessian() -> None:
    """The second derivative is that of logsumexp, shared out by the mean and 0 for ignored rows."""
    logits, vector = tensor([0.0, 0.0], [5.0, 5.0], [1.0, 2.0]), tensor([1.0, 0.0], [0.0, 2.0], [1.0, 0.0])
    product = REFERENCE.cross_entropy_hvp(logits, torch.tensor([0, 1, -100]), -100, "mean", vector)
    assert product.tolist() == [[0.125, -0.125], [-0.25, 0.25], [0.0, 0.0]]


def test_cross_entropy_scale() -> None:
    """An error is measured by m + loss + log n + 1, or without m; infinite losses do not make it infinite."""
    logits, target = tensor([0.0, 200.0], [1.0, -INF]), torch.tensor([0, 1])
    rest = math.log(2.0) + 1.0
    assert REFERENCE.cross_entropy_scale(logits, target, -100, "none").tolist() == [400.0 + rest, 1.0 + rest]
    shifted = REFERENCE.cross_entropy_scale(logits, target, -100, "none", True)
    assert shifted.tolist() == [200.0 + rest, rest]


def test_inputs_are_drawn_within_bounds() -> None:
    """Drawn inputs depend on the generator alone and keep to their bounds, dtypes and shapes."""
    x = REFERENCE.uniform(torch.Generator().manual_seed(1), (50, 4), -1.5, 1.5, torch.float16)
    again = REFERENCE.uniform(torch.Generator().manual_seed(1), (50, 4), -1.5, 1.5, torch.float16)
    labels = REFERENCE.classes(torch.Generator().manual_seed(1), (200,), 5)
    assert (x.dtype, x.shape, torch.equal(x, again)) == (torch.float16, (50, 4), True)
    assert -1.5 <= x.min() < -1.0 < 1.0 < x.max() <= 1.5
    assert (labels.dtype, labels.unique().tolist()) == (torch.int64, [0, 1, 2, 3, 4])


# The truth of log_softmax


@pytest.mark.parametrize("row", [[1.0, 2.0, 3.0], [0.0, 200.0], [1000.0, 1001.0, 1002.0], [1e4, -1e4, 0.25]])
def test_log_softmax_is_what_decimal_finds(row: list[float]) -> None:
    """Each entry minus the logsumexp of the row, computed where nothing overflows and nothing cancels."""
    with localcontext(prec=80):
        truth = [float(Decimal(value) - decimal_logsumexp(row)) for value in row]
    assert REFERENCE.log_softmax(tensor(*row)).tolist() == truth
    assert REFERENCE.log_softmax(tensor(row, row).T, 0)[:, 1].tolist() == truth


def test_log_softmax_of_the_masked_and_of_nothing() -> None:
    """-inf stays -inf and weighs nothing; an empty axis stays empty; a 0-d tensor becomes 0."""
    values = REFERENCE.log_softmax(tensor(1.0, -INF, 1.0)).tolist()
    assert values == [pytest.approx(-math.log(2.0), rel=1e-15), -INF, pytest.approx(-math.log(2.0), rel=1e-15)]
    assert REFERENCE.log_softmax(torch.zeros(2, 0)).shape == (2, 0)
    assert REFERENCE.log_softmax(torch.tensor(7.0)).tolist() == 0.0


def test_log_softmax_gradient_and_hessian() -> None:
    """c - softmax · sum(c); and for two equal logits, whose logsumexp is subtracted twice, -[[1, -1], [-1, 1]] / 2."""
    p = decimal_softmax([1.0, 2.0, 3.0])
    grad = REFERENCE.log_softmax_grad(tensor(1.0, 2.0, 3.0), -1, tensor(2.0, 0.0, -0.5)).tolist()
    assert grad == pytest.approx([2.0 - 1.5 * p[0], -1.5 * p[1], -0.5 - 1.5 * p[2]], rel=1e-15)
    assert REFERENCE.log_softmax_hvp(tensor(0.0, 0.0), tensor(1.0, 0.0)).tolist() == [-0.5, 0.5]


def test_log_softmax_scale() -> None:
    """An error is measured by m + |answer| + log n + 1, or without m."""
    rest = math.log(2.0) + 1.0
    assert REFERENCE.log_softmax_scale(tensor(0.0, 200.0)).tolist() == [400.0 + rest, 200.0 + rest]
    assert REFERENCE.log_softmax_scale(tensor(0.0, 200.0), -1, True).tolist() == [200.0 + rest, rest]


# The truth of bce_with_logits


def decimal_binary(x: float, t: float) -> tuple[float, float, float]:
    """-t log p - (1 - t) log(1 - p), its slope p - t and its curvature p (1 - p), straight from p = 1 / (1 + e^-x)."""
    with localcontext(prec=120):
        p = 1 / (1 + (-Decimal(x)).exp())
        loss = -Decimal(t) * p.ln() - (1 - Decimal(t)) * (1 - p).ln()
        return float(loss), float(p - Decimal(t)), float(p * (1 - p))


@pytest.mark.parametrize("x", [0.0, 0.5, -1.0, 17.0, -17.0, 20.0, 100.0, -100.0])
@pytest.mark.parametrize("t", [0.0, 0.25, 1.0])
def test_binary_cross_entropy_is_what_decimal_finds(x: float, t: float) -> None:
    """Loss, gradient and curvature are the definitions', in 120 digits, where 1 - p keeps what it has."""
    loss, slope, curvature = decimal_binary(x, t)
    logits, target, one = tensor(x), tensor(t), tensor(1.0)
    assert REFERENCE.bce_with_logits(logits, target, "none").item() == loss
    assert REFERENCE.bce_with_logits_grad(logits, target, "none", one).item() == pytest.approx(slope, rel=1e-15)
    assert REFERENCE.bce_with_logits_hvp(logits, "none", one).item() == pytest.approx(curvature, rel=1e-15)


def test_binary_cross_entropy_reductions() -> None:
    """The mean divides loss and gradient by the number of elements; of nothing it is nan, and the sum 0."""
    logits, target = tensor([0.0, 0.0], [0.0, 0.0]), tensor([1.0, 0.0], [1.0, 1.0])
    assert REFERENCE.bce_with_logits(logits, target).item() == pytest.approx(math.log(2.0), rel=1e-15)
    assert REFERENCE.bce_with_logits(logits, target, "sum").item() == pytest.approx(4 * math.log(2.0), rel=1e-15)
    grad = REFERENCE.bce_with_logits_grad(logits, target, "mean", torch.tensor(8.0))
    assert grad.tolist() == [[-1.0, 1.0], [-1.0, -1.0]]
    assert math.isnan(REFERENCE.bce_with_logits(tensor(), tensor()).item())
    assert REFERENCE.bce_with_logits(tensor(), tensor(), "sum").item() == 0.0


def test_a_nan_logit_stays_alone() -> None:
    """nan costs nan, and its neighbour what it costs anyway."""
    losses = REFERENCE.bce_with_logits(tensor(NAN, 0.0), tensor(1.0, 1.0), "none").tolist()
    assert math.isnan(losses[0])
    assert losses[1] == pytest.approx(math.log(2.0), rel=1e-15)


# What stands in the TOML, and in the gallery beyond what the gate asks


def test_sentences_are_told_once() -> None:
    """No two mistakes of one function are told with the same sentence, and each is one."""
    told = [(entry.exercise, entry.sentence) for entry in GALLERY if entry.kind == "mistake" and not entry.form]
    assert len(set(told)) == len(told)
    assert all(sentence.endswith(".") and len(sentence) > 40 for _, sentence in told)


def test_the_gallery_plays_by_the_rules() -> None:
    """Neither the solution nor an entry, right or wrong, holds a forbidden call: their library forms are told apart."""
    sources = {entry.file: entry.variations[0].source for entry in GALLERY}
    sources["solution"] = Path(ASSIGNMENT.solution).read_text(encoding="utf-8")
    found = {name: forbidden_calls(source, ASSIGNMENT.forbidden) for name, source in sources.items()}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_points() -> None:
    """Each exercise's core checks add up; a common offset is what earns a bonus."""
    worth = {"logsumexp": 10, "log_softmax": 6, "cross_entropy": 10, "bce_with_logits": 10}
    assert {exercise.id: exercise.points for exercise in ASSIGNMENT.exercises} == worth
    stretch = [check.id for check in ASSIGNMENT.checks if check.stretch]
    assert stretch == ["log_softmax/shift_invariance", "cross_entropy/shift_invariance"]


def test_rows_beyond_all_bounds_weigh_little() -> None:
    """The guard that almost every first solution lacks costs at most a twentieth of its exercise."""
    (check,) = [check for check in ASSIGNMENT.hidden_checks if check.id == "logsumexp/infinite_rows"]
    assert 0 < check.points <= 0.5


def test_the_form_as_taught_has_full_points() -> None:
    """logsumexp(z) - z_y, without a shift of its own, is a variant: it misses the bonus for an offset, and no more."""
    (taught,) = [entry for entry in GALLERY if entry.file == "variants/module_form.py"]
    assert taught.expected == {"cross_entropy/shift_invariance"}
