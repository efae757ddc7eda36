"""Losses that stay exact where exp and log alone do not: log-sum-exp and what stands on it.

Build each function from primitives. Forbidden, under every name (function, method, module, torch.ops, torch._C):
logsumexp, logcumsumexp, softmax, log_softmax, cross_entropy, nll_loss, binary_cross_entropy and its form with
logits. Allowed: everything else, among it exp, log, log1p, expm1, amax, sum, where, masked_fill, gather, softplus,
logsigmoid, logaddexp.

For every function here: an input is never written to; the result has the dtype and device of the logits; float16
and bfloat16 are computed in float32 and rounded once, at the end; any strides are fine; gradients flow, and may
be differentiated again.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["bce_with_logits", "cross_entropy", "log_softmax", "logsumexp"]


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) along ``dim``, right wherever the answer itself fits the dtype.

    Args:
        x: float16, bfloat16, float32 or float64, any shape, a 0-d tensor too (``dim`` is then 0 or -1).
        dim: the one axis that is summed away; negative counts from the end.
        keepdim: keep that axis with size 1.

    Returns:
        A tensor of x's dtype. Its gradient is softmax(x) along ``dim``, also at logits of 1e38 and at ties.
        A slice in which every entry is -inf, or which is empty, gives -inf; a slice with +inf gives +inf; one with
        nan gives nan; slices never disturb each other. An entry of -inf beside finite ones has gradient exactly 0.
        (The gradient of a slice without any finite entry is nobody's promise.)

    Raises:
        TypeError: x holds integers or booleans.
        IndexError: x has no axis ``dim``.
    """
    # YOUR CODE HERE
    raise NotImplementedError("logsumexp")


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """x - logsumexp(x) along ``dim``: the logarithms of the probabilities that softmax makes of x.

    Args:
        x: float16, bfloat16, float32 or float64, any shape, a 0-d tensor too (``dim`` is then 0 or -1).
        dim: the axis along which the probabilities add up to 1; negative counts from the end.

    Returns:
        A tensor of x's dtype and shape, empty if x is. With c coming from upstream, its gradient is c minus
        softmax(x) times the sum of c along ``dim``, also at logits of 1e38 and at ties.
        An entry of -inf beside finite ones gives -inf; if its own c is 0, its gradient is exactly 0. An answer below
        what the dtype can hold is -inf too. A slice with nan gives nan throughout; slices never disturb each other.
        (What becomes of a slice with +inf, or without any finite entry, is nobody's promise.)

    Raises:
        TypeError: x holds integers or booleans.
        IndexError: x has no axis ``dim``.
    """
    # YOUR CODE HERE
    raise NotImplementedError("log_softmax")


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-log of the probability that softmax(logits) gives to the target class, from the logits themselves.

    Args:
        logits: float16, bfloat16, float32 or float64 of shape (C), (N, C) or (N, C, d1, …, dk): the classes are axis
            0 of a single sample and axis 1 of a batch. Entries of -inf are classes that are ruled out.
        target: class numbers in [0, C), int64 or uint8, of the shape of ``logits`` without the class axis.
        ignore_index: a target of this value (inside [0, C) or not) does not count: loss 0, gradient 0, and whatever
            its logits hold, nan included, does not reach the result.
        reduction: "none" (one loss per target), "sum", or "mean": the sum divided by how many targets count.

    Returns:
        A tensor of the dtype of ``logits``: the shape of ``target`` for "none", 0-d otherwise. A target on a class
        that is ruled out costs inf. If no target counts (or the batch is empty), "sum" is 0 and "mean" is nan, both
        with gradient 0. The gradient is softmax - onehot, finite at every finite logit, also where the loss is so
        large that it is inf in this dtype; it is exactly 0 on classes that are ruled out beside a finite target.

    Raises:
        TypeError: logits hold integers or booleans.
        RuntimeError: target is neither int64 nor uint8.
        ValueError: the shapes do not belong together, there are no classes (C = 0), or reduction is unknown.
        IndexError: a target outside [0, C) that is not ignore_index.
    """
    # YOUR CODE HERE
    raise NotImplementedError("cross_entropy")


def bce_with_logits(logits: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-t log p - (1 - t) log(1 - p) with p = sigmoid(x), from the logits x themselves: the cross-entropy of yes and no.

    Args:
        logits: float16, bfloat16, float32 or float64 of any shape: each element is a yes-or-no question of its own.
        target: for each of them the probability t of yes, in [0, 1]: 0 or 1 if the answer is known, anything between
            if it is not. Of any floating dtype, and of exactly the shape of ``logits``: nothing is broadcast.
        reduction: "none" (one loss per element), "sum", or "mean": the sum divided by the number of elements.

    Returns:
        A tensor of the dtype of ``logits``, whatever that of ``target``: the shape of ``logits`` for "none", 0-d
        otherwise. If there are no elements, "sum" is 0 and "mean" is nan. The value and the gradient, sigmoid(x) - t,
        are right at every finite logit, however large; at exactly 0 the gradient is 0.5 - t. A nan stays in its own
        element. (Infinite logits, targets outside [0, 1] and targets that are integers or booleans are nobody's
        promise; the latter may be converted or refused.)

    Raises:
        TypeError: logits hold integers or booleans.
        ValueError: target has another shape than logits, or reduction is unknown.
    """
    # YOUR CODE HERE
    raise NotImplementedError("bce_with_logits")
