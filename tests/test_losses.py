"""The assignment `losses`: is its truth true, and is its gallery in order?

Truth is held against hand-computed values, identities and Python's `decimal`, never against torch's own losses.
"""

from __future__ import annotations

import ast
import math
import re
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import spec
from grader.reference import load_module

COURSE = Path(__file__).parent.parent
FOLDER = COURSE / "assignments" / "losses"
ASSIGNMENT = spec.load(FOLDER)
REFERENCE: Any = load_module(FOLDER / "reference.py")
MISTAKES = sorted((FOLDER / "mistakes").glob("*.py"))
VARIANTS = sorted((FOLDER / "variants").glob("*.py"))
INF, NAN = math.inf, math.nan
FORBIDDEN = re.compile(
    r"(torch|F|functional|nn|aten|_C|_nn)\.\w*(logsumexp|logcumsumexp|softmax|cross_entropy|nll_loss|CrossEntropy)"
    r"|\.(logsumexp|logcumsumexp|softmax|log_softmax)\("
)


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


def literal(path: Path, name: str) -> Any:
    """The module-level literal ``name`` of a gallery file, None if it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    return None


def sentence(path: Path) -> str:
    """The first line of a gallery file's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


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


# The gallery and what stands in the TOML


def test_gallery_is_large_enough() -> None:
    """Both functions have mistakes, and the right ones by other means are many."""
    assert len(MISTAKES) >= 12
    assert len(VARIANTS) >= 8
    for exercise in ASSIGNMENT.exercises:
        assert any(path.stem.startswith(f"{exercise.id}_") for path in MISTAKES)


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_mistake_is_told(path: Path) -> None:
    """A mistake has a sentence for the student, and FAILS with known hidden checks of the function it is wrong in."""
    fails = literal(path, "FAILS")
    known = {check.id: check.exercise for check in ASSIGNMENT.hidden_checks}
    assert sentence(path).endswith(".")
    assert len(sentence(path)) > 40
    assert fails
    assert len(set(fails)) == len(fails)
    assert set(fails) <= set(known)
    (exercise,) = {known[check] for check in fails}
    assert path.stem.startswith(f"{exercise}_")


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_variant_misses_only_stretch(path: Path) -> None:
    """A right solution by other means says its idea, and misses nothing that gives points."""
    stretch = {check.id for check in ASSIGNMENT.hidden_checks if check.stretch}
    assert sentence(path).endswith(".")
    assert set(literal(path, "MISSES") or []) <= stretch


@pytest.mark.parametrize("path", [*MISTAKES, *VARIANTS, Path(ASSIGNMENT.solution)], ids=lambda path: path.stem)
def test_entry_is_complete_and_plays_by_the_rules(path: Path) -> None:
    """Every entry defines every exercise and calls nothing that is forbidden."""
    source = path.read_text(encoding="utf-8")
    defined = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    assert {exercise.id for exercise in ASSIGNMENT.exercises} <= defined
    assert FORBIDDEN.search(source) is None


def test_sentences_are_told_once() -> None:
    """No two mistakes of one function are told with the same sentence."""
    told = [(path.stem.startswith("logsumexp_"), sentence(path)) for path in MISTAKES]
    assert len(set(told)) == len(told)


def test_every_hidden_check_catches_something() -> None:
    """A hidden check that no mistake of the gallery fails would prove nothing."""
    caught = {check for path in MISTAKES for check in literal(path, "FAILS")}
    assert caught == {check.id for check in ASSIGNMENT.hidden_checks}


def test_hints_and_points() -> None:
    """Every check has three rungs of hints; each exercise's core checks are worth ten points."""
    assert {len(check.hints) for check in ASSIGNMENT.checks} == {3}
    for exercise in ASSIGNMENT.exercises:
        core = [
            check.points for check in ASSIGNMENT.hidden_checks if check.exercise == exercise.id and not check.stretch
        ]
        assert sum(core) == exercise.points == 10
    assert [check.id for check in ASSIGNMENT.checks if check.stretch] == ["cross_entropy/shift_invariance"]


def test_rows_beyond_all_bounds_weigh_little() -> None:
    """The guard that almost every first solution lacks costs at most a twentieth of its exercise."""
    (check,) = [check for check in ASSIGNMENT.hidden_checks if check.id == "logsumexp/infinite_rows"]
    assert 0 < check.points <= 0.5
