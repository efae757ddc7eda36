"""Forbidden operators are seen and refused by whatever name they are reached, and nothing else is."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from grader.guard import ForbiddenOperatorError, Guard, operators

X = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.0, 1.0]])
CLASSES = torch.tensor([2, 0])
TARGETS = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]])


@pytest.fixture
def guard() -> Iterator[Guard]:
    """A guard that is down again afterwards."""
    one = Guard()
    yield one
    one.raise_for(())


class _Backward(torch.autograd.Function):
    """The identity, whose gradient is multiplied by a softmax."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        factor: Tensor = x.softmax(-1)
        return gradients[0] * factor


def backward(x: Tensor) -> Tensor:
    """The gradient of `_Backward`."""
    leaf = x.clone().requires_grad_()
    _Backward.apply(leaf).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    return leaf.grad


def in_a_thread(call: Callable[[], Tensor]) -> Tensor:
    """The value of a call made in another thread; what it raises is raised here."""
    done: list[Any] = []

    def body() -> None:
        try:
            done.append(call())
        except ForbiddenOperatorError as error:
            done.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]  # type: ignore[no-any-return]


@functools.cache
def traced() -> Callable[[Tensor], Tensor]:
    """A function that was compiled before anything was forbidden."""
    return torch.jit.trace(lambda x: x.softmax(-1), X)  # type: ignore[no-any-return]


# name: what is forbidden, and a call that reaches it
WAYS: dict[str, tuple[str, Callable[[], Any]]] = {
    "function": ("softmax", lambda: torch.softmax(X, -1)),
    "method": ("softmax", lambda: X.softmax(-1)),
    "functional": ("softmax", lambda: functional.softmax(X, -1)),
    "module": ("softmax", lambda: torch.nn.Softmax(-1)(X)),
    "special": ("softmax", lambda: torch.special.softmax(X, -1)),
    "another dtype": ("softmax", lambda: functional.softmax(X.half(), -1, dtype=torch.float32)),
    "out": ("softmax", lambda: torch.softmax(X, -1, out=torch.empty_like(X))),
    "nothing to do": ("softmax", lambda: torch.empty(0, 3).softmax(-1)),
    "private function": ("softmax", lambda: torch._softmax(X, -1, False)),
    "safe variant": ("softmax", lambda: torch._safe_softmax(X, -1)),
    "torch.ops": ("softmax", lambda: torch.ops.aten.softmax.int(X, -1)),
    "torch.ops below": ("softmax", lambda: torch.ops.aten._softmax(X, -1, False)),
    "C functions": ("softmax", lambda: torch._C._VariableFunctions.softmax(X, -1)),
    "C methods": ("softmax", lambda: torch._C.TensorBase.softmax(X, -1)),
    "masked": ("softmax", lambda: torch.masked.softmax(X, -1)),
    "sparse": ("softmax", lambda: torch.sparse.softmax(X.to_sparse(), -1)),
    "nested": ("softmax", lambda: torch.nested.nested_tensor([X]).softmax(-1)),
    "in softmin": ("softmax", lambda: functional.softmin(X, -1)),
    "in gumbel_softmax": ("softmax", lambda: functional.gumbel_softmax(X)),
    "in Categorical": ("softmax", lambda: torch.distributions.Categorical(logits=X).probs),
    "in attention": ("softmax", lambda: torch.nn.MultiheadAttention(3, 1)(X[None], X[None], X[None])),
    "in softmax's reference": ("softmax", lambda: torch._refs.nn.functional.softmax(X, -1)),
    "with a graph": ("softmax", lambda: X.clone().requires_grad_().softmax(-1)),
    "without a graph": ("softmax", torch.no_grad()(lambda: X.softmax(-1))),
    "inference": ("softmax", torch.inference_mode()(lambda: X.softmax(-1))),
    "backward": ("softmax", lambda: backward(X)),
    "in another thread": ("softmax", lambda: in_a_thread(lambda: X.softmax(-1))),
    "vmap": ("softmax", lambda: torch.vmap(lambda row: row.softmax(-1))(X)),
    "grad": ("softmax", lambda: torch.func.grad(lambda x: x.softmax(-1)[0, 0])(X)),
    "jvp": ("softmax", lambda: torch.func.jvp(lambda x: x.softmax(-1), (X,), (X,))),
    "jacrev": ("softmax", lambda: torch.func.jacrev(lambda x: x.softmax(-1))(X)),
    "traced before": ("softmax", lambda: traced()(X)),
    "scripted tracing": ("softmax", lambda: torch.jit.trace(lambda x: x.softmax(-1), X, check_trace=False)),
    "compiled": ("softmax", lambda: torch.compile(lambda x: x.softmax(-1), backend="eager")(X)),
    "log_softmax": ("log_softmax", lambda: X.log_softmax(-1)),
    "log_softmax below": ("log_softmax", lambda: torch._log_softmax(X, -1, False)),
    "log_softmax in cross_entropy": ("log_softmax", lambda: functional.cross_entropy(X, CLASSES)),
    "logsumexp": ("logsumexp", lambda: X.logsumexp(-1)),
    "special logsumexp": ("logsumexp", lambda: torch.special.logsumexp(X, -1)),
    "logsumexp in Categorical": ("logsumexp", lambda: torch.distributions.Categorical(logits=X)),
    "cross_entropy": ("cross_entropy", lambda: functional.cross_entropy(X, CLASSES)),
    "cross_entropy in C": ("cross_entropy", lambda: torch._C._nn.cross_entropy_loss(X, CLASSES)),
    "cross_entropy of probabilities": ("cross_entropy", lambda: functional.cross_entropy(X, X.exp())),
    "CrossEntropyLoss": ("cross_entropy", lambda: torch.nn.CrossEntropyLoss()(X, CLASSES)),
    "nll_loss": ("nll_loss", lambda: functional.nll_loss(X, CLASSES)),
    "nll_loss of images": (
        "nll_loss",
        lambda: functional.nll_loss(X[None, :, :, None], torch.zeros(1, 3, 1, dtype=torch.long)),
    ),
    "nll_loss in C": ("nll_loss", lambda: torch._C._nn.nll_loss_nd(X, CLASSES)),
    "nll_loss in cross_entropy": ("nll_loss", lambda: functional.cross_entropy(X, CLASSES)),
    "with_logits": (
        "binary_cross_entropy_with_logits",
        lambda: functional.binary_cross_entropy_with_logits(X, TARGETS),
    ),
    "BCEWithLogitsLoss": (
        "binary_cross_entropy_with_logits",
        lambda: torch.nn.BCEWithLogitsLoss()(X, TARGETS),
    ),
    "binary_cross_entropy": ("binary_cross_entropy", lambda: functional.binary_cross_entropy(TARGETS, TARGETS)),
    "binary_cross_entropy in C": (
        "binary_cross_entropy",
        lambda: torch._C._nn.binary_cross_entropy(TARGETS, TARGETS),
    ),
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What the library warns of on some of these ways (prototypes, deprecations) is not the matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("way", WAYS)
def test_a_forbidden_operator_raises_however_it_is_reached(guard: Guard, way: str) -> None:
    """It is remembered under the name that the assignment gave it, and its kernel never runs."""
    name, call = WAYS[way]
    call()  # allowed: the call itself is sound

    guard.raise_for([name])
    with pytest.raises(Exception, match=f"{name} is forbidden in this exercise"):  # compilers wrap what is raised
        call()

    assert guard.seen == {name}
    guard.raise_for(())
    guard.seen.clear()
    call()
    assert guard.seen == set()


def test_what_is_caught_is_remembered(guard: Guard) -> None:
    """Who falls back on something else has tried; `seen` grows until somebody clears it."""
    guard.raise_for(["softmax", "logsumexp"])
    for call, dim in ((torch.softmax, -1), (torch.logsumexp, -1), (torch.softmax, 0)):
        with pytest.raises(ForbiddenOperatorError):
            call(X, dim)

    assert guard.seen == {"softmax", "logsumexp"}
    assert isinstance(ForbiddenOperatorError(), RuntimeError)


FAMILY = ["softmax", "log_softmax", "logsumexp", "cross_entropy", "nll_loss", "binary_cross_entropy"]
FAMILY += ["binary_cross_entropy_with_logits"]


@pytest.mark.parametrize(
    "call",
    [
        functional.softplus,
        functional.logsigmoid,
        lambda x: x.sigmoid(),
        lambda x: torch.logaddexp(x, x.flip(0)),
        lambda x: x.logcumsumexp(0),
        lambda x: x.exp().log1p(),
        torch.expm1,
        lambda x: x - x.amax(-1, keepdim=True),
        lambda x: x.gather(-1, torch.zeros(2, 1, dtype=torch.long)),
        functional.hardtanh,
        functional.relu,
        lambda x: torch.where(x > 0, x, -x),
        lambda x: functional.mse_loss(x, TARGETS),
        lambda x: functional.multi_margin_loss(x, CLASSES),
    ],
    ids=[
        "softplus", "logsigmoid", "sigmoid", "logaddexp", "logcumsumexp", "log1p", "expm1", "amax", "gather",
        "hardtanh", "relu", "where", "mse_loss", "multi_margin_loss",
    ],
)  # fmt: skip
def test_neighbours_run_with_their_gradients(guard: Guard, call: Callable[[Tensor], Tensor]) -> None:
    """The tools that students are meant to use give, with the whole family forbidden, what they give otherwise."""

    def value_and_gradient() -> list[list[float]]:
        leaf = X.clone().requires_grad_()
        value = call(leaf)
        value.sum().backward()
        assert leaf.grad is not None
        return [value.tolist(), leaf.grad.tolist()]

    expected = value_and_gradient()
    guard.raise_for(FAMILY)

    assert value_and_gradient() == expected
    assert guard.seen == set()


def test_one_name_does_not_forbid_its_relatives(guard: Guard) -> None:
    """With softmax forbidden, log_softmax and what is built on it run; with log_softmax forbidden, softmax does."""
    guard.raise_for(["softmax"])
    X.log_softmax(-1)
    X.logsumexp(-1)
    functional.cross_entropy(X, CLASSES)

    guard.raise_for(["log_softmax", "binary_cross_entropy"])
    functional.softmin(X, -1)
    X.logsumexp(-1)
    functional.nll_loss(X, CLASSES)
    functional.binary_cross_entropy_with_logits(X, TARGETS)

    assert guard.seen == set()


def test_other_names_replace_those_before(guard: Guard) -> None:
    """Exactly the names of the last call are forbidden, also when the same ones are set again."""
    for _ in range(3):
        guard.raise_for(["softmax"])
        with pytest.raises(ForbiddenOperatorError):
            X.softmax(-1)
        guard.raise_for(["logsumexp"])
        guard.raise_for(iter(["logsumexp"]))
        X.softmax(-1)
        with pytest.raises(ForbiddenOperatorError, match="logsumexp"):
            X.logsumexp(-1)


def test_the_library_is_whole_again(guard: Guard) -> None:
    """Values, gradients, second gradients and vmap of everything that was forbidden are what they were, bit for bit."""

    def everything() -> list[Any]:
        calls: list[Callable[[Tensor], Tensor]] = [
            lambda x: x.softmax(-1), lambda x: x.log_softmax(0), lambda x: x.logsumexp(-1),
            lambda x: functional.cross_entropy(x, CLASSES), lambda x: functional.nll_loss(x.log(), CLASSES),
            lambda x: functional.binary_cross_entropy(x, TARGETS.to(x.dtype)),
            lambda x: functional.binary_cross_entropy_with_logits(x, TARGETS.to(x.dtype)),
        ]  # fmt: skip
        told: list[Any] = []
        for call in calls:
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                leaf = X.sigmoid().to(dtype).requires_grad_()
                value = call(leaf)
                (first,) = torch.autograd.grad(value.sum(), leaf, create_graph=True)
                (second,) = torch.autograd.grad((first * first).sum(), leaf)
                told += [value.tolist(), first.tolist(), second.tolist()]
        told.append(torch.vmap(lambda row: row.softmax(-1))(X).tolist())
        told.append(torch.softmax(X, -1, out=torch.empty_like(X)).tolist())
        return told

    before = everything()
    guard.raise_for(FAMILY)
    with pytest.raises(ForbiddenOperatorError):
        X.softmax(-1)
    guard.raise_for(())

    assert everything() == before
    e = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64).exp()  # softmax by its definition
    assert X.softmax(-1)[0].tolist() == pytest.approx((e / e.sum()).tolist(), rel=1e-6)  # float32 has eps 1.2e-7


def test_nothing_is_forbidden_by_an_unknown_name(guard: Guard) -> None:
    """A name that stands for no operator refuses nothing: that is told by those who read files."""
    guard.raise_for(["no_such_operator", ""])

    assert operators(("no_such_operator",)) == {}
    assert X.softmax(-1).shape == X.shape


def plain(name: str) -> set[str]:
    """The operators, without overloads, that a name stands for."""
    found = operators((name,))
    assert set(found.values()) <= {name}
    return {operator.partition(".")[0] for operator in found}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "softmax",
            {
                "softmax", "special_softmax", "_softmax", "_safe_softmax", "_sparse_softmax", "_masked_softmax",
                "_nested_tensor_softmax_with_shape", "_softmax_backward_data", "_sparse_softmax_backward_data",
                "_masked_softmax_backward",
            },
        ),
        (
            "log_softmax",
            {
                "log_softmax", "special_log_softmax", "_log_softmax", "_sparse_log_softmax",
                "_log_softmax_backward_data", "_sparse_log_softmax_backward_data",
            },
        ),
        ("logsumexp", {"logsumexp", "special_logsumexp"}),
        ("cross_entropy", {"cross_entropy_loss"}),
        (
            "nll_loss",
            {
                "nll_loss", "nll_loss_forward", "nll_loss_nd", "nll_loss2d", "nll_loss2d_forward", "nll_loss_backward",
                "nll_loss2d_backward",
            },
        ),
        ("binary_cross_entropy", {"binary_cross_entropy", "binary_cross_entropy_backward"}),
        ("binary_cross_entropy_with_logits", {"binary_cross_entropy_with_logits"}),
        ("sigmoid", {"sigmoid", "sigmoid_", "sigmoid_backward"}),
        ("logaddexp", {"logaddexp"}),
        ("log_sigmoid", {"log_sigmoid", "log_sigmoid_forward", "log_sigmoid_backward"}),
        ("max", {"max"}),
        ("log", {"log", "log_"}),
        ("exp", {"exp", "exp_"}),
    ],
)  # fmt: skip
def test_a_name_stands_for_all_spellings_of_its_operator_and_no_other(name: str, expected: set[str]) -> None:
    """Private, safe, sparse, masked, nested and special forms, losses, forwards and backwards; no relatives."""
    assert {operator for operator in plain(name) if "attention" not in operator} == expected


def test_attention_is_a_softmax() -> None:
    """Its kernels hold a softmax, and some return the log-sum-exp beside it."""
    attention = {operator for operator in plain("softmax") if "attention" in operator}

    assert {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"} <= attention
    assert not {operator for operator in plain("log_softmax") if "attention" in operator}


def test_ways_round_the_listed_operators_end_at_the_guard() -> None:
    """The log-sum-exp of attention, a backward by hand, a function that is all Python."""
    x = torch.randn(1, 1, 4, 8)
    rows = x[0, 0]
    ways: dict[str, list[Callable[[], object]]] = {
        "softmax": [
            lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(x, x, x, scale=1.0),
            lambda: torch.ops.aten._softmax_backward_data(rows, rows, -1, rows.dtype),
        ],
        "multilabel_soft_margin_loss": [lambda: torch.nn.functional.multilabel_soft_margin_loss(rows, rows.sigmoid())],
    }
    original = torch.nn.functional.multilabel_soft_margin_loss
    for name, calls in ways.items():
        for call in calls:
            call()  # without a guard it runs
            guard = Guard()
            guard.raise_for([name])
            with pytest.raises(RuntimeError, match=name):
                call()
            guard.raise_for([])
            assert guard.seen == {name}
    assert torch.nn.functional.multilabel_soft_margin_loss is original


def test_another_layout_has_no_kernel_left() -> None:
    """MKL-DNN has a softmax of its own: with the guard up it cannot be reached either."""
    rows = torch.randn(4, 8).to_mkldnn()
    rows.softmax(-1)
    guard = Guard()
    guard.raise_for(["softmax"])
    try:
        with pytest.raises(RuntimeError):
            rows.softmax(-1)
    finally:
        guard.raise_for([])


def test_each_overload_is_listed_under_its_own_name() -> None:
    """Of several names each operator belongs to the one that it stands for; overloads with `out` count too."""
    found = operators(("softmax", "log_softmax"))

    assert {op: found[op] for op in ("softmax.int", "_softmax.out", "log_softmax.int", "_log_softmax.out")} == {
        "softmax.int": "softmax", "_softmax.out": "softmax", "log_softmax.int": "log_softmax",
        "_log_softmax.out": "log_softmax",
    }  # fmt: skip
    assert found == operators(("softmax",)) | operators(("log_softmax",))
    assert found.keys() == operators(("softmax",)).keys() | operators(("log_softmax",)).keys()


def test_two_guards_do_not_know_each_other() -> None:
    """Each forbids its own; the library is whole again once both are down, in either order."""
    one, two = Guard(), Guard()
    one.raise_for(["softmax"])
    two.raise_for(["logsumexp"])
    with pytest.raises(ForbiddenOperatorError):
        X.softmax(-1)
    one.raise_for(())
    X.softmax(-1)
    with pytest.raises(ForbiddenOperatorError):
        X.logsumexp(-1)
    two.raise_for(())

    assert (one.seen, two.seen) == ({"softmax"}, {"logsumexp"})
    assert X.logsumexp(-1).shape == (2,)
