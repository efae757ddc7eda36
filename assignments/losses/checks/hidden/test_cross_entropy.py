"""cross_entropy: the loss of confident, masked, ignored and very many targets, and its gradient."""

from __future__ import annotations

import math

import pytest
import torch

from grader.compare import close, same

INF, NAN = math.inf, math.nan
UNIT = "eps·(m + loss + log n + 1)"  # m: the largest |finite logit|; logsumexp(z) - z_y rounds at its size
LOSS = {"limit": 8, "unit": UNIT, "reason": "n <= 5: worst honest form measured 0.5, 4.6 at n = 1000"}
HALF = {"limit": 4, "unit": UNIT, "reason": "computed in float32, rounded once: worst honest form measured 0.6"}
GRADIENT = {"limit": 16, "what": "the gradient", "reason": "|z| <= 9: shifted forms measured 1.1, lse(z) - z_y m/2"}
SATURATED = {"limit": 4, "what": "the gradient", "reason": "every probability is 0 or 1 here, up to one rounding"}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WIDE = [torch.float32, torch.float64]
IGNORED = -100


def right(got, reference, logits, target, reduction="none", ignore_index=IGNORED):
    """``got`` is the cross-entropy of these logits and targets."""
    limits = LOSS if logits.dtype in WIDE else HALF
    scale = reference.cross_entropy_scale(logits, target, ignore_index, reduction)
    truth = reference.cross_entropy(logits, target, ignore_index, reduction)
    close(got, truth, dtype=logits.dtype, scale=scale, **limits)


@pytest.mark.check("cross_entropy")
def test_small_values(student, reference):
    """Ordinary logits give the right loss for each target, confident ones a small one"""
    ordinary = reference.uniform((6, 5), -1.5, 1.5, torch.float32)
    confident = torch.tensor([[10.0, 0.0, 0.0], [0.0, 1.0, 12.0]])
    for logits, target in ((ordinary, reference.classes((6,), 5)), (confident, torch.tensor([0, 2]))):
        right(student.cross_entropy(logits, target, reduction="none"), reference, logits, target)


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_reductions(student, reference):
    """The sum adds the losses up; the mean, the default, divides it by how many there are"""
    logits, target = reference.uniform((7, 4), -1.5, 1.5, torch.float32), reference.classes((7,), 4)
    for reduction, kwargs in (("sum", {"reduction": "sum"}), ("mean", {"reduction": "mean"}), ("mean", {})):
        right(student.cross_entropy(logits, target, **kwargs), reference, logits, target, reduction)


@pytest.mark.check("cross_entropy", needs=["small_values"])
@pytest.mark.parametrize("reduction", ["none", "sum"])
@pytest.mark.parametrize("shape", [(5,), (4, 1), (3, 5, 2), (2, 5, 3, 4), (2, 3, 3)], ids=str)
def test_shapes(student, reference, shape, reduction):
    """The classes are axis 1 of a batch and axis 0 of a single sample, with any axes behind"""
    logits = reference.uniform(shape, -1.5, 1.5, torch.float32)
    axis = min(len(shape) - 1, 1)
    target = reference.classes(shape[:axis] + shape[axis + 1 :], shape[axis])
    right(student.cross_entropy(logits, target, reduction=reduction), reference, logits, target, reduction)


@pytest.mark.check("cross_entropy", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_confident_mistakes(student, reference, dtype):
    """A very wrong prediction costs what it should and still has a gradient"""
    cases = [([0.0, 200.0], 0), ([1e4, -1e4, 0.0], 1), ([1e4, -1e4, 0.0], 0)]
    if dtype is torch.float16:
        cases.append(([6e4, -6e4, 0.0], 1))  # 120 000 overflows float16: inf, with a finite gradient
    elif dtype is not torch.float64:
        cases += [([1e38, -1e38, 0.0], 1), ([1e38, -1e38, 0.0], 0)]
    for row, label in cases:
        logits, target, upstream = torch.tensor([row], dtype=dtype), torch.tensor([label]), torch.ones(1, dtype=dtype)
        value, (grad,) = student.cross_entropy.vjp(logits, target, reduction="none")
        right(value, reference, logits, target)
        close(grad, reference.cross_entropy_grad(logits, target, IGNORED, "none", upstream), dtype=dtype, **SATURATED)


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_masked_classes(student, reference):
    """Classes of -inf change neither the loss of the others nor get a gradient"""
    rows = [[1.0, -INF, 2.0, 0.5], [-INF, 3.0, -1.0, 0.0], [0.25, 1.0, -INF, -40.0], [-8.0, -INF, -9.0, -8.5]]
    logits, target, upstream = torch.tensor(rows), torch.tensor([2, 3, 0, 2]), torch.tensor([1.0, 0.5, -2.0, 3.0])
    value, (grad,) = student.cross_entropy.vjp(logits, target, cotangent=upstream, reduction="none")
    right(value, reference, logits, target)
    truth = reference.cross_entropy_grad(logits, target, IGNORED, "none", upstream)
    close(grad, truth, dtype=torch.float32, scale=3.0, unit="eps·|upstream|", **GRADIENT)
    same(grad[logits == -INF], torch.zeros(4), what="the gradient of the masked classes")


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_masked_target(student, reference):
    """A target on a class of -inf costs inf, and only that target"""
    logits, target = torch.tensor([[1.0, -INF, 2.0], [0.0, 1.0, -INF], [3.0, 1.0, 2.0]]), torch.tensor([1, 0, 2])
    right(student.cross_entropy(logits, target, reduction="none"), reference, logits, target)


@pytest.mark.check("cross_entropy", needs=["small_values"])
@pytest.mark.parametrize("ignore_index", [-100, 255, 2])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_ignore_index(student, reference, ignore_index, reduction):
    """Ignored targets count neither in the sum nor in the divisor, and their logits get gradient 0"""
    logits, target = reference.uniform((6, 4), -1.5, 1.5, torch.float32), torch.tensor([0, 9, 3, 1, 9, 1])
    target = target.where(target != 9, ignore_index)
    shape = (6,) if reduction == "none" else ()
    upstream = torch.full(shape, 2.0)
    kwargs = {} if ignore_index == IGNORED else {"ignore_index": ignore_index}
    value, (grad,) = student.cross_entropy.vjp(logits, target, cotangent=upstream, reduction=reduction, **kwargs)
    right(value, reference, logits, target, reduction, ignore_index)
    truth = reference.cross_entropy_grad(logits, target, ignore_index, reduction, upstream)
    close(grad, truth, dtype=torch.float32, scale=2.0, unit="eps·|upstream|", **GRADIENT)
    same(grad[target == ignore_index], torch.zeros(2, 4), what="the gradient of the ignored rows")
    everyone = target.where(target != ignore_index, 3 if ignore_index == 2 else 2)
    _, (grad,) = student.cross_entropy.vjp(logits, everyone, cotangent=upstream, reduction=reduction, **kwargs)
    truth = reference.cross_entropy_grad(logits, everyone, ignore_index, reduction, upstream)
    close(grad, truth, dtype=torch.float32, scale=2.0, unit="eps·|upstream|", **GRADIENT)


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_ignored_garbage(student, reference):
    """Whatever the logits of an ignored target hold, nan included, stays out of the loss"""
    rows = [[NAN, 1.0, 2.0], [1.0, 2.0, 3.0], [-INF, -INF, -INF], [0.0, INF, 1.0], [2.0, 0.0, -1.0]]
    logits, target = torch.tensor(rows), torch.tensor([IGNORED, 0, IGNORED, IGNORED, 1])
    for reduction in ("none", "sum"):
        right(student.cross_entropy(logits, target, reduction=reduction), reference, logits, target, reduction)


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_nothing_counted(student, reference):
    """Without a target that counts, the sum is 0 and the mean nan, both with gradient 0"""
    for rows in (3, 0):
        logits, target = reference.uniform((rows, 4), -1.5, 1.5, torch.float32), torch.full((rows,), IGNORED)
        for reduction in ("none", "sum", "mean"):
            value, (grad,) = student.cross_entropy.vjp(logits, target, reduction=reduction)
            truth = reference.cross_entropy(logits, target, IGNORED, reduction)
            same(value, truth, dtype=torch.float32)
            if rows > 0:  # an empty batch has no gradient to speak of
                same(grad, torch.zeros(rows, 4), what="the gradient")


@pytest.mark.check("cross_entropy", needs=["small_values"])
@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_gradient(student, reference, reduction):
    """The gradient is softmax - onehot times what comes from upstream"""
    dtype = torch.float32
    for shape in ((4, 5), (2, 5, 3)):
        logits, target = reference.uniform(shape, -1.5, 1.5, dtype), reference.classes((shape[0], *shape[2:]), 5)
        upstream = reference.uniform(tuple(target.shape) if reduction == "none" else (), 2.0, 4.0, dtype)
        _, (grad,) = student.cross_entropy.vjp(logits, target, cotangent=upstream, reduction=reduction)
        truth = reference.cross_entropy_grad(logits, target, IGNORED, reduction, upstream)
        close(grad, truth, dtype=dtype, scale=4.0, unit="eps·|upstream|", **GRADIENT)


@pytest.mark.check("cross_entropy", needs=["small_values", "gradient"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_second_derivative(student, reference, dtype):
    """The gradient can be differentiated again: diag(p) - p pᵀ"""
    logits, target = reference.uniform((3, 5), -1.5, 1.5, dtype), reference.classes((3,), 5)
    vector = reference.uniform((3, 5), -2.0, 2.0, dtype)
    _, product = student.cross_entropy.hvp(logits, target, vector=vector, reduction="sum")
    close(
        product,
        reference.cross_entropy_hvp(logits, target, IGNORED, "sum", vector),
        dtype=dtype,
        limit=32,
        reason="|v| <= 2 and n = 5: worst honest form measured 3",
        what="the gradient of the gradient",
    )


@pytest.mark.check("cross_entropy", needs=["small_values"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(student, reference, dtype):
    """The loss and the gradient have the dtype of the logits, and its accuracy"""
    logits, target = reference.uniform((6, 5), -1.5, 1.5, dtype), reference.classes((6,), 5)
    for reduction, shape in (("none", (6,)), ("sum", ())):
        upstream = torch.ones(shape, dtype=dtype)
        value, (grad,) = student.cross_entropy.vjp(logits, target, reduction=reduction)
        right(value, reference, logits, target, reduction)
        close(
            grad,
            reference.cross_entropy_grad(logits, target, IGNORED, reduction, upstream),
            dtype=dtype,
            limit=16 if dtype in WIDE else 4,
            reason="halves are rounded once from float32; for the others as in `gradient`",
            what="the gradient",
        )


@pytest.mark.check("cross_entropy", needs=["small_values", "reductions"])
def test_half_batch(student, reference):
    """The mean over 70 000 float16 rows is right, though float16 cannot count beyond 65 504"""
    target = torch.zeros(70_000, dtype=torch.int64)
    for other in (0.0, 2.0):  # all rows are alike, so their mean is what one of them costs
        row = torch.tensor([[0.0, other]], dtype=torch.float16)
        right(student.cross_entropy(row.repeat(70_000, 1), target), reference, row, target[:1], "mean")


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_inputs_untouched(student, reference):
    """Logits and targets are the same after the call as before, ignored targets too"""
    logits, target = reference.uniform((5, 3), 3.0, 6.0, torch.float32), torch.tensor([2, 0, IGNORED, 1, IGNORED])
    value, after = student.cross_entropy.with_inputs(logits, target, reduction="none")
    right(value, reference, logits, target)
    same(after[0], logits, what="the logits after the call")
    same(after[1], target, what="the target after the call")


@pytest.mark.check("cross_entropy", needs=["small_values", "shapes"])
def test_strides(student, reference):
    """Transposed, channels-last, sliced and expanded inputs are as good as contiguous ones"""
    base = reference.uniform((5, 8), -1.5, 1.5, torch.float32)
    pixels = reference.uniform((2, 3, 4, 5), -1.5, 1.5, torch.float32)
    labels = reference.classes((24,), 5)
    cases = [
        (base.T, labels[::3]),
        (base.T[:1].expand(4, 5), labels[:4]),
        (pixels.movedim(-1, 1), labels.reshape(4, 3, 2).permute(2, 1, 0)),
        (base[:, ::2].T, labels[3::5][:4]),
    ]
    for logits, target in cases:
        right(student.cross_entropy(logits, target, reduction="none"), reference, logits, target)


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_target_dtypes(student, reference):
    """uint8 targets are class numbers like any others; float and int32 ones are refused with RuntimeError"""
    logits, target = reference.uniform((4, 5), -1.5, 1.5, torch.float32), torch.tensor([4, 0, 2, 2])
    right(student.cross_entropy(logits, target.to(torch.uint8), reduction="none"), reference, logits, target)
    student.cross_entropy.raises(RuntimeError, logits, target.float())
    student.cross_entropy.raises(RuntimeError, logits, target.int())


@pytest.mark.check("cross_entropy", needs=["small_values"])
def test_errors(student, reference):
    """Shapes, classes, reductions and dtypes that make no sense are refused with the promised errors"""
    logits, target = reference.uniform((3, 4), -1.5, 1.5, torch.float32), torch.tensor([0, 3, 1])
    right(student.cross_entropy(logits, target, reduction="none"), reference, logits, target)
    raises = student.cross_entropy.raises
    raises(ValueError, logits, target, reduction="average")
    raises(ValueError, logits, target.unsqueeze(1))
    raises(ValueError, logits, target[:2])
    raises(ValueError, logits, torch.tensor(1))
    raises(ValueError, torch.zeros(2, 0), torch.tensor([IGNORED, IGNORED]))
    raises(IndexError, logits, torch.tensor([0, 4, 1]))
    raises(IndexError, logits, torch.tensor([0, -1, 1]))
    raises(IndexError, logits, torch.tensor([0, IGNORED, 1]), ignore_index=2)
    raises(TypeError, torch.ones(3, 4, dtype=torch.int64), target)
    raises(TypeError, torch.ones(3, 4, dtype=torch.bool), target)


@pytest.mark.check("cross_entropy", needs=["small_values", "gradient"])
@pytest.mark.parametrize(("dtype", "offset"), [(torch.float32, 1e4), (torch.float64, 1e9)], ids=str)
def test_shift_invariance(student, reference, dtype, offset):
    """An offset common to all logits costs no digits, of the loss or of the gradient"""
    logits, target = reference.uniform((4, 5), offset - 4.0, offset + 4.0, dtype), reference.classes((4,), 5)
    value, (grad,) = student.cross_entropy.vjp(logits, target, reduction="none")
    close(
        value,
        reference.cross_entropy(logits, target, IGNORED, "none"),
        dtype=dtype,
        scale=reference.cross_entropy_scale(logits, target, IGNORED, "none", True),
        limit=8,
        unit="eps·(loss + log n + 1)",
        reason="forms that shift first stay below 0.8, logsumexp(z) - z_y is off by hundreds",
    )
    upstream = torch.ones(4, dtype=dtype)
    truth = reference.cross_entropy_grad(logits, target, IGNORED, "none", upstream)
    close(grad, truth, dtype=dtype, limit=16, what="the gradient", reason="forms that shift first stay below 4")
