"""Calls whose answers tell the mistakes of the gallery apart. Each small, each with a reason to be here."""

from __future__ import annotations

import math

import torch

from grader.probe import call, hvp, vjp, with_inputs

INF, NAN = math.inf, math.nan


def row(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """One row of logits."""
    return torch.tensor(values, dtype=dtype)


TWO_ROWS = torch.tensor([[1.0, 2.0, 4.0], [3.0, 1.0, 0.5]])
CUBE = torch.tensor([3 * k / 11 - 1 for k in range(12)]).reshape(2, 3, 2)  # linspace differs from CPU to CPU
TARGETS = torch.tensor([2, 1])
UPSTREAM = torch.tensor([2.0, -3.0])
VECTOR = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)

PROBES = {
    "logsumexp": {
        "thousands": vjp(row(1000.0, 1001.0, 1002.0)),  # no shift: inf; a clamp: another number, gradient 0
        "two_rows": vjp(TWO_ROWS, cotangent=UPSTREAM),  # what a detached part or a forgotten upstream shows in
        "far_rows": call(torch.tensor([[1e4, 1e4], [0.0, 1.0], [-1e4, -1e4]])),  # one maximum for several rows
        "middle_axis": call(CUBE, 1),  # dim ignored, or the maximum of another axis
        "first_axis_kept": call(CUBE, 0, True),
        "size_one": call(torch.tensor([[[1.0, 2.0]]])),  # squeeze() without an axis
        "masked": vjp(row(1.0, -INF, 2.0)),
        "nothing_but_masked": call(row(-INF, -INF)),
        "not_a_number": call(row(NAN, 1.0)),
        "infinite": call(row(1.0, INF)),
        "ties_at_1e38": vjp(row(1e38, 1e38)),  # a gradient made from the rounded result: 1 and 1
        "double": vjp(row(0.25, -1.5, 3.0, dtype=torch.float64)),  # narrowed to float32
        "double_far": call(row(0.0, -1000.0, dtype=torch.float64)),  # exactly 0, unless something is added in the log
        "half": vjp(row(0.5, -1.0, 2.0, dtype=torch.float16)),  # the dtype of the result
        "half_many": call(torch.zeros(1, dtype=torch.float16).expand(70_000)),  # 65504 is the largest half
        "bfloat16_many": call(torch.zeros(1, dtype=torch.bfloat16).expand(2000)),  # 256 + 1 is 256
        "empty": call(torch.zeros(2, 0)),
        "curvature": hvp(torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64), vector=VECTOR),
        "inputs_after": with_inputs(TWO_ROWS, 1),
        "integers": call(torch.tensor([1, 2, 3])),
    },
    "log_softmax": {
        "far_apart": vjp(row(0.0, 200.0), cotangent=torch.tensor([1.0, 2.0])),  # log(0), a floor, a cut gradient
        "two_rows": vjp(TWO_ROWS, cotangent=torch.tensor([[1.0, 0.5, -2.0], [3.0, -1.0, 0.25]])),
        "thousands": call(torch.tensor([[1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1002.0]])),
        "far_rows": call(torch.tensor([[1e4, 1e4], [0.0, 1.0], [-1e4, -1e4]])),
        "first_axis": call(TWO_ROWS, 0),
        "middle_axis": call(CUBE, 1),
        "turned": call(CUBE.movedim(1, 2), 1),  # view() of what is not contiguous
        "masked": vjp(row(1.0, -INF, 2.0), cotangent=row(1.0, 0.0, 0.5)),
        "not_a_number": call(row(NAN, 1.0)),
        "ties_at_1e38": vjp(row(1e38, 1e38), cotangent=row(1.0, 0.0)),
        "double": vjp(row(0.25, -1.5, 3.0, dtype=torch.float64), cotangent=row(1.0, 2.0, 0.0, dtype=torch.float64)),
        "double_far": call(row(0.0, -1000.0, dtype=torch.float64)),
        "half": vjp(row(0.5, -1.0, 2.0, dtype=torch.float16), cotangent=row(1.0, 0.0, 0.0, dtype=torch.float16)),
        "half_many": call(torch.zeros(1, dtype=torch.float16).expand(70_000)),
        "bfloat16_many": call(torch.zeros(1, dtype=torch.bfloat16).expand(2000)),
        "empty": call(torch.zeros(2, 0)),
        "curvature": hvp(torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64), vector=VECTOR),
        "inputs_after": with_inputs(TWO_ROWS, 1),
        "integers": call(torch.tensor([1, 2, 3])),
    },
    "cross_entropy": {
        "two_rows": vjp(TWO_ROWS, TARGETS, cotangent=UPSTREAM, reduction="none"),
        "mean": vjp(TWO_ROWS, TARGETS),  # divided by 1, by N · C, or averaged over the wrong axis
        "sum": call(TWO_ROWS, TARGETS, reduction="sum"),
        "very_wrong": vjp(torch.tensor([[0.0, 200.0]]), torch.tensor([0]), reduction="none"),  # log(0), or a ceiling
        "very_right": vjp(torch.tensor([[10.0, 0.0, 0.0]]), torch.tensor([0]), reduction="none"),
        "masked_class": vjp(torch.tensor([[1.0, -INF, 2.0]]), torch.tensor([2]), reduction="none"),  # 0 · -inf
        "masked_target": call(torch.tensor([[1.0, -INF, 2.0]]), torch.tensor([1]), reduction="none"),
        "one_ignored": vjp(TWO_ROWS, torch.tensor([-100, 0])),  # who counts in the divisor, who is looked up
        "ignored_by_number": call(TWO_ROWS, TARGETS, ignore_index=2, reduction="none"),
        "ignored_nan": call(torch.tensor([[NAN, 1.0], [2.0, 1.0]]), torch.tensor([-100, 0]), reduction="sum"),
        "all_ignored": vjp(TWO_ROWS, torch.tensor([-100, -100])),
        "pixels": call(CUBE, torch.tensor([[0, 2], [1, 1]]), reduction="none"),  # the classes are axis 1
        "one_sample": call(row(1.0, 2.0, 4.0), torch.tensor(1), reduction="none"),
        "double": vjp(row(0.25, -1.5, 3.0, dtype=torch.float64), torch.tensor(1), reduction="none"),
        "half": vjp(torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float16), torch.tensor([1]), reduction="none"),
        "half_batch": call(
            torch.zeros(1, 2, dtype=torch.float16).expand(70_000, 2), torch.zeros(1).long().expand(70_000)
        ),
        "bytes": call(TWO_ROWS, TARGETS.to(torch.uint8), reduction="none"),
        "turned": call(CUBE, torch.tensor([[0, 1], [2, 1]]).T, reduction="none"),  # view() of what is not contiguous
        "column_of_targets": call(TWO_ROWS, torch.tensor([[2], [0]])),
        "class_minus_one": call(TWO_ROWS, torch.tensor([2, -1])),
        "curvature": hvp(torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64), torch.tensor([1]), vector=VECTOR),
        "inputs_after": with_inputs(TWO_ROWS, torch.tensor([-100, 0]), reduction="none"),
        "integers": call(TWO_ROWS.long(), TARGETS),
    },
    "bce_with_logits": {
        "ordinary": vjp(row(0.5, -1.0, 2.0), row(1.0, 0.0, 1.0), cotangent=row(2.0, -3.0, 1.0), reduction="none"),
        "soft": vjp(row(0.5, -1.0, 2.0), row(0.25, 0.75, 0.3), reduction="none"),
        "very_wrong": vjp(row(120.0, -120.0), row(0.0, 1.0), reduction="none"),  # inf, a ceiling, a gradient of 0
        "seventeen": vjp(row(17.0, -17.0), row(0.0, 1.0), reduction="none"),  # sigmoid(17) is exactly 1 in float32
        "twelve": vjp(row(12.0, -12.0), row(0.0, 1.0), reduction="none"),  # where a large epsilon already shows
        "very_right": vjp(row(8.0, -8.0), row(1.0, 0.0), reduction="none"),
        # what is left of nothing: exp(-limit) of a clamped logit, -eps of an eps in the log, 0 of a floor under p
        "very_right_double": call(
            row(-120.0, dtype=torch.float64), row(0.0, dtype=torch.float64), limit=1e-30, reduction="none"
        ),
        "zero": vjp(row(0.0, 0.0), row(1.0, 0.0), reduction="none"),  # the corners of clamp, relu and |x|
        "far_apart": call(row(1e4, 0.5, -1e4), row(1.0, 1.0, 0.0), reduction="none"),  # one maximum for all
        "mean": vjp(TWO_ROWS, torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])),
        "sum": call(TWO_ROWS, torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), reduction="sum"),
        "unknown_reduction": call(row(0.5, -1.0), row(1.0, 0.0), reduction="average"),
        "column": call(torch.tensor([[0.5], [-1.0]]), torch.tensor([[1.0], [0.0]]), reduction="none"),
        "column_beside_row": call(torch.tensor([[0.5], [-1.0]]), row(1.0, 0.0), reduction="none"),
        "empty": call(torch.zeros(0), torch.zeros(0)),
        "not_a_number": call(row(NAN, 1.0), row(1.0, 0.0), reduction="none"),
        "turned": call(CUBE[0].T, torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), reduction="none"),
        "double": vjp(
            row(0.25, -1.5, 12.0, dtype=torch.float64), row(1.0, 0.0, 1.0, dtype=torch.float64), reduction="none"
        ),
        # of interest for its dtype only: float64 arithmetic on numbers of float32 has digits of either
        "wide_target": call(row(0.5, -1.0), row(1.0, 0.0, dtype=torch.float64), limit=1e9, reduction="none"),
        "half": vjp(row(0.5, -1.0, dtype=torch.float16), row(1.0, 0.0, dtype=torch.float16), reduction="none"),
        "half_batch": call(
            torch.ones(1, dtype=torch.float16).expand(70_000), torch.zeros(1, dtype=torch.float16).expand(70_000)
        ),
        "curvature": hvp(
            row(0.5, -1.0, 2.0, dtype=torch.float64), row(1.0, 0.0, 1.0, dtype=torch.float64), vector=VECTOR[0]
        ),
        "inputs_after": with_inputs(row(0.5, -1.0), row(1.0, 0.0), reduction="none"),
        "integers": call(torch.tensor([1, -1]), row(1.0, 0.0)),
    },
}
