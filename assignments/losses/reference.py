"""What is true: log-sum-exp and the losses on it to 60 digits, on the inputs as rounded to their dtype.

Sources: logsumexp(x) = m + log(sum(exp(x - m))) with m = max(x); its gradient is p = softmax(x) and its Hessian
diag(p) - p pᵀ; log_softmax(x) = x - logsumexp(x) takes an upstream c back to c - p sum(c); cross-entropy is
logsumexp(z) - z_y with gradient p - onehot(y) and the same Hessian; its form for yes and no, log(1 + exp(x)) - x·t,
has the gradient p - t with p = sigmoid(x), and p · (1 - p) as second derivative. Slices longer than a thousand
entries are summed by `math.fsum`, which rounds once. torch only holds the numbers.
Every result that is not an input is a float64 tensor.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import torch
from torch import Tensor

__all__ = [
    "bce_with_logits",
    "bce_with_logits_grad",
    "bce_with_logits_hvp",
    "bce_with_logits_scale",
    "classes",
    "cross_entropy",
    "cross_entropy_grad",
    "cross_entropy_hvp",
    "cross_entropy_scale",
    "log_softmax",
    "log_softmax_grad",
    "log_softmax_hvp",
    "log_softmax_scale",
    "logsumexp",
    "logsumexp_grad",
    "logsumexp_hvp",
    "logsumexp_scale",
    "uniform",
]

_mp = mpmath.MPContext()  # one of our own: the precision of the global context is not ours to change
_mp.dps = 60


# Inputs


def uniform(rng: torch.Generator, shape: tuple[int, ...], low: float, high: float, dtype: torch.dtype) -> Tensor:
    """Numbers in [low, high], rounded to ``dtype``; bounded, so that no draw is near what a check tells apart."""
    return (low + (high - low) * torch.rand(shape, generator=rng, dtype=torch.float64)).to(dtype)


def classes(rng: torch.Generator, shape: tuple[int, ...], count: int) -> Tensor:
    """Class numbers in [0, count), int64."""
    return torch.randint(count, shape, generator=rng)


# One slice


@functools.lru_cache(maxsize=1 << 12)
def _peak_and_rest(row: tuple[float, ...]) -> tuple[float, Any]:
    """m = max(row) and log(sum(exp(row - m))), apart, for beside 1e308 the second needs no digit of the first.

    Without a finite entry to stand out, m is the answer (nan beats +inf, +inf beats all, an empty row is -inf).
    """
    if any(math.isnan(value) for value in row):
        return math.nan, _mp.zero
    peak = max(row, default=-math.inf)
    if math.isinf(peak):
        return peak, _mp.zero
    shifts = [_mp.mpf(value) - peak for value in row if value != -math.inf]
    if len(shifts) > 1000:
        return peak, _mp.log(math.fsum(math.exp(shift) for shift in shifts))
    return peak, _mp.log(_mp.fsum(_mp.exp(shift) for shift in shifts))


def _log_softmax(row: tuple[float, ...]) -> list[Any]:
    """row - logsumexp(row): -inf for -inf, nan where no finite entry is the largest."""
    peak, rest = _peak_and_rest(row)
    return [_mp.mpf(value) - peak - rest for value in row]


def _softmax(row: tuple[float, ...]) -> list[Any]:
    """exp(row - logsumexp(row)): exactly 0 for -inf, nan where no finite entry is the largest."""
    return [_mp.exp(value) for value in _log_softmax(row)]


def _loss(row: tuple[float, ...], target: int) -> Any:
    """-log softmax(row)[target]; inf for a class that is ruled out."""
    if row[target] == -math.inf:
        return _mp.inf
    peak, rest = _peak_and_rest(row)
    return _mp.mpf(peak) - row[target] + rest


def _size(row: tuple[float, ...]) -> float:
    """The largest finite |entry|, 0 if there is none."""
    return max((abs(value) for value in row if math.isfinite(value)), default=0.0)


# Slices of a tensor


def _rows(x: Tensor, dim: int) -> list[tuple[float, ...]]:
    """The slices of ``x`` along ``dim`` in flat order of the remaining axes; float64 holds every dtype exactly."""
    moved = x.double().reshape(1) if x.dim() == 0 else x.double().movedim(dim, -1)
    count = math.prod(moved.shape[:-1])
    return [tuple(row) for row in moved.reshape(count, moved.shape[-1]).tolist()]


def _reduced(x: Tensor, dim: int, keepdim: bool) -> tuple[int, ...]:
    """The shape of ``x`` after ``dim`` is summed away."""
    shape = list(x.shape)
    if shape:
        shape[dim : dim + 1 or None] = [1] if keepdim else []
    return tuple(shape)


def _like(rows: list[list[Any]], x: Tensor, dim: int) -> Tensor:
    """``rows`` put back where ``_rows`` took them from."""
    flat = torch.tensor([[float(value) for value in row] for row in rows], dtype=torch.float64)
    return flat.reshape(x.movedim(dim, -1).shape).movedim(-1, dim) if x.dim() > 0 else flat.reshape(())


# logsumexp


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) along ``dim``."""
    values = [float(sum(_peak_and_rest(row))) for row in _rows(x, dim)]
    return torch.tensor(values, dtype=torch.float64).reshape(_reduced(x, dim, keepdim))


def logsumexp_scale(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    """m + log n of each slice: the last addition rounds at the size of m, the sum of n terms at that of log n."""
    values = [_size(row) + math.log(max(len(row), 2)) for row in _rows(x, dim)]
    return torch.tensor(values, dtype=torch.float64).reshape(_reduced(x, dim, keepdim))


def logsumexp_grad(x: Tensor, dim: int, cotangent: Tensor) -> Tensor:
    """The gradient for the upstream ``cotangent`` (with or without ``dim`` kept): cotangent · softmax."""
    upstream = cotangent.double().flatten().tolist()
    rows = [[c * p for p in _softmax(row)] for c, row in zip(upstream, _rows(x, dim), strict=True)]
    return _like(rows, x, dim)


def logsumexp_hvp(x: Tensor, vector: Tensor, dim: int = -1) -> Tensor:
    """The Hessian of the summed logsumexp times ``vector``: p · (v - ⟨p, v⟩) in each slice."""
    rows = []
    for row, direction in zip(_rows(x, dim), _rows(vector, dim), strict=True):
        p = _softmax(row)
        mean = _mp.fsum(a * b for a, b in zip(p, direction, strict=True))
        rows.append([a * (b - mean) for a, b in zip(p, direction, strict=True)])
    return _like(rows, x, dim)


# log_softmax


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """x - logsumexp(x) along ``dim``, in the shape of x."""
    return _like([_log_softmax(row) for row in _rows(x, dim)], x, dim)


def log_softmax_scale(x: Tensor, dim: int = -1, shifted: bool = False) -> Tensor:
    """m + |answer| + log n + 1 of each entry; without m (``shifted``), only a result that subtracts the maximum before
    anything else stays within a few eps of it. Infinite answers count as 0 here."""
    rows = []
    for row in _rows(x, dim):
        size = (0.0 if shifted else _size(row)) + math.log(max(len(row), 2)) + 1.0
        answers = [abs(float(value)) for value in _log_softmax(row)]
        rows.append([size + answer if math.isfinite(answer) else size for answer in answers])
    return _like(rows, x, dim)


def log_softmax_grad(x: Tensor, dim: int, cotangent: Tensor) -> Tensor:
    """The gradient for the upstream ``cotangent`` of x's shape: cotangent - softmax · sum(cotangent)."""
    rows = []
    for row, upstream in zip(_rows(x, dim), _rows(cotangent, dim), strict=True):
        total = _mp.fsum(upstream)
        rows.append([c - p * total for c, p in zip(upstream, _softmax(row), strict=True)])
    return _like(rows, x, dim)


def log_softmax_hvp(x: Tensor, vector: Tensor, dim: int = -1) -> Tensor:
    """The Hessian of the summed log_softmax times ``vector``: each of the n entries of a slice subtracts its
    logsumexp, and nothing else in it is curved."""
    return -x.size(dim) * logsumexp_hvp(x, vector, dim)


# cross_entropy


def _axis(logits: Tensor) -> int:
    return 0 if logits.dim() == 1 else 1


def _reduce(values: list[Any], counted: list[bool], target: Tensor, reduction: str) -> Tensor:
    """The values of the targets that count, reduced; the others are 0."""
    kept = [value if counts else _mp.mpf(0) for value, counts in zip(values, counted, strict=True)]
    if reduction == "none":
        return torch.tensor([float(value) for value in kept], dtype=torch.float64).reshape(target.shape)
    total, count = _mp.fsum(kept), sum(counted)
    if reduction == "mean":
        total = total / count if count else _mp.nan
    return torch.tensor(float(total), dtype=torch.float64)


def cross_entropy(logits: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """logsumexp(z) - z_y for each target that counts, reduced; nan for the mean of nothing."""
    labels = target.flatten().tolist()
    counted = [label != ignore_index for label in labels]
    rows = zip(_rows(logits, _axis(logits)), labels, counted, strict=True)
    return _reduce([_loss(row, label) if counts else 0 for row, label, counts in rows], counted, target, reduction)


def cross_entropy_scale(
    logits: Tensor,
    target: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    shifted: bool = False,
) -> Tensor:
    """m + loss + log n + 1 of each target, reduced like the losses; without m (``shifted``), only a loss that
    subtracts the maximum before anything else stays within a few eps of it. Infinite losses count as 0 here."""
    labels = target.flatten().tolist()
    counted = [label != ignore_index for label in labels]
    sizes = []
    for row, label, counts in zip(_rows(logits, _axis(logits)), labels, counted, strict=True):
        loss = float(_loss(row, label)) if counts else 0.0
        size = (loss if math.isfinite(loss) else 0.0) + math.log(max(len(row), 2)) + 1.0
        sizes.append(size if shifted else size + _size(row))
    return _reduce(sizes, counted, target, reduction)


def _weights(target: Tensor, ignore_index: int, reduction: str, cotangent: Tensor) -> list[float]:
    """What the loss of each target is multiplied with on the way to the upstream ``cotangent``."""
    counted = [label != ignore_index for label in target.flatten().tolist()]
    upstream = cotangent.double().expand(target.shape).flatten().tolist()
    divisor = max(sum(counted), 1) if reduction == "mean" else 1
    return [value / divisor if counts else 0.0 for value, counts in zip(upstream, counted, strict=True)]


def cross_entropy_grad(logits: Tensor, target: Tensor, ignore_index: int, reduction: str, cotangent: Tensor) -> Tensor:
    """The gradient for the upstream ``cotangent``: upstream · (softmax - onehot), shared out by a "mean"."""
    axis, rows = _axis(logits), []
    weights = _weights(target, ignore_index, reduction, cotangent)
    for row, label, weight in zip(_rows(logits, axis), target.flatten().tolist(), weights, strict=True):
        if weight == 0.0:
            rows.append([0.0] * len(row))
        else:
            rows.append([weight * (p - (index == label)) for index, p in enumerate(_softmax(row))])
    return _like(rows, logits, axis)


def cross_entropy_hvp(logits: Tensor, target: Tensor, ignore_index: int, reduction: str, vector: Tensor) -> Tensor:
    """The Hessian of the loss (summed, for "none") times ``vector``: weight · p · (v - ⟨p, v⟩)."""
    axis = _axis(logits)
    ones = torch.ones((), dtype=torch.float64)
    weights = torch.tensor(_weights(target, ignore_index, reduction, ones), dtype=torch.float64)
    return logsumexp_hvp(logits, vector, axis) * weights.reshape(target.shape).unsqueeze(axis)


# bce_with_logits


def _binary_loss(x: float, target: float) -> Any:
    """max(x, 0) - x·t + log(1 + exp(-|x|)), which is -t log p - (1 - t) log(1 - p) with p = sigmoid(x)."""
    if math.isnan(x):
        return _mp.nan
    return max(x, 0.0) - _mp.mpf(x) * target + _mp.log1p(_mp.exp(-abs(_mp.mpf(x))))


def _sigmoid(x: float) -> Any:
    return 1 / (1 + _mp.exp(-_mp.mpf(x)))


def _pairs(logits: Tensor, target: Tensor) -> Iterator[tuple[float, float]]:
    """The logits with their targets, in flat order; float64 holds every dtype exactly."""
    return zip(logits.double().flatten().tolist(), target.double().flatten().tolist(), strict=True)


def _shares(logits: Tensor, reduction: str, cotangent: Tensor) -> list[float]:
    """What the loss of each element is multiplied with on the way to the upstream ``cotangent``."""
    divisor = max(logits.numel(), 1) if reduction == "mean" else 1
    return [value / divisor for value in cotangent.double().expand(logits.shape).flatten().tolist()]


def bce_with_logits(logits: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The loss of each element, reduced; nan in its own element, and for the mean of nothing."""
    values = [_binary_loss(x, t) for x, t in _pairs(logits, target)]
    return _reduce(values, [True] * len(values), target, reduction)


def bce_with_logits_scale(logits: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|x| + 1 of each element, reduced like the losses: softplus(x) - x·t rounds both terms at the size of x."""
    values = [_mp.mpf(0.0 if math.isnan(x) else abs(x)) + 1 for x, _ in _pairs(logits, target)]
    return _reduce(values, [True] * len(values), target, reduction)


def bce_with_logits_grad(logits: Tensor, target: Tensor, reduction: str, cotangent: Tensor) -> Tensor:
    """The gradient for the upstream ``cotangent``: upstream · (sigmoid(x) - t), shared out by a "mean"."""
    shares = _shares(logits, reduction, cotangent)
    values = [float(share * (_sigmoid(x) - t)) for share, (x, t) in zip(shares, _pairs(logits, target), strict=True)]
    return torch.tensor(values, dtype=torch.float64).reshape(logits.shape)


def bce_with_logits_hvp(logits: Tensor, reduction: str, vector: Tensor) -> Tensor:
    """The Hessian of the loss (summed, for "none") times ``vector``: p · (1 - p) · v, and no target in it."""
    shares = _shares(logits, reduction, torch.ones((), dtype=torch.float64))
    values = [
        float(share * _sigmoid(x) * _sigmoid(-x) * v)
        for share, (x, v) in zip(shares, _pairs(logits, vector), strict=True)
    ]
    return torch.tensor(values, dtype=torch.float64).reshape(logits.shape)
