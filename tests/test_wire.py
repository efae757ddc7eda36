"""Frames carry what they may, exactly, and a hostile one does nothing but raise ProtocolError."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.wire import HEAD, ProtocolError, lengths, pack, unpack, unpack_frame

SETTINGS = settings(max_examples=150, deadline=None)
REPLY_DTYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool,
]  # fmt: skip
REQUEST_ONLY = [torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32, torch.complex64, torch.complex128]


def crossed(value: Any, *, reply: bool) -> Any:
    """``value`` as the other side sees it."""
    return unpack_frame(pack({"v": value}, reply=reply), reply=reply)["v"]


def frame(header: Any, body: bytes = b"") -> bytes:
    """A frame by hand, of JSON text or of something that becomes JSON."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8")
    return b"NGR1" + len(text).to_bytes(4, "little") + len(body).to_bytes(8, "little") + text + body


def reply_of(node: Any, table: Any = (), body: bytes = b"") -> Any:
    """What the trusted side makes of a reply whose value is ``node``."""
    return unpack_frame(frame([table, ["d", ["v", node]]], body), reply=True)["v"]


def raw(tensor: torch.Tensor) -> bytes:
    """The bits of a dense tensor, in order."""
    return bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist()) if tensor.numel() else b""


def alike(one: Any, other: Any) -> bool:
    """Equal type for type and bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and raw(one) == raw(other)
    if isinstance(one, float):
        return (one != one and other != other) or (one == other and math.copysign(1, one) == math.copysign(1, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one), list(other)) and alike(list(one.values()), list(other.values()))
    return bool(one == other)


@st.composite
def tensors(draw: st.DrawFn, dtypes: list[torch.dtype]) -> torch.Tensor:
    """Tensors of every dtype and of small shapes, empty and 0-d ones too, holding any bits."""
    dtype, shape = draw(st.sampled_from(dtypes)), draw(st.lists(st.integers(0, 3), max_size=3))
    size = math.prod(shape) * dtype.itemsize
    content = bytearray(draw(st.binary(min_size=size, max_size=size)))
    if dtype == torch.bool:
        content = bytearray(byte & 1 for byte in content)
    flat = torch.frombuffer(content, dtype=dtype) if size else torch.empty(0, dtype=dtype)
    return flat.view(shape)


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**4000 - 1, 1 - 10**4000]),
)
DTYPES = st.sampled_from([*REPLY_DTYPES, *REQUEST_ONLY])
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(), st.text(max_size=9), DTYPES)
KEYS = st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False), st.text(max_size=5), DTYPES)


def values(dtypes: list[torch.dtype]) -> st.SearchStrategy[Any]:
    """Everything that may cross."""
    return st.recursive(
        SCALARS | tensors(dtypes),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=4).map(tuple)
            | st.dictionaries(KEYS, inner, max_size=4)
        ),
        max_leaves=12,
    )


@SETTINGS
@given(values(REPLY_DTYPES))
def test_replies_survive(value: Any) -> None:
    """Every value that a reply may hold arrives as it was, type for type and bit for bit."""
    assert alike(crossed(value, reply=True), value)


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
@SETTINGS
@given(values(REPLY_DTYPES + REQUEST_ONLY))
def test_requests_survive(value: Any) -> None:
    """Every value that a request may hold arrives as it was, fp8 and complex tensors too."""
    assert alike(crossed(value, reply=False), value)


@pytest.mark.parametrize("reply", [False, True])
def test_special_values_survive(reply: bool) -> None:
    """The values that JSON cannot say, or would confuse, arrive as they were."""
    value: list[Any] = [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        1.0,
        1,
        True,
        0,
        False,
        None,
        "",
        "nan",
        ["l"],
        ("T", 0),
        {},
    ]
    assert alike(crossed(value, reply=reply), value)
    assert alike(crossed({1: "a", "1": "b", None: "c", 1.5: torch.bool, torch.half: {}}, reply=reply)[torch.half], {})


STRIDED: dict[str, Callable[[], torch.Tensor]] = {
    "transposed": lambda: torch.arange(12.0).view(3, 4).t(),
    "expanded": lambda: torch.tensor([1.0, 2.0]).view(2, 1).expand(2, 1000),
    "every second": lambda: torch.arange(10, dtype=torch.int16)[1::2],
    "one corner": lambda: torch.arange(24.0).view(2, 3, 4)[1:, 1:, 1:3],
    "overlapping": lambda: torch.arange(6.0).as_strided((3, 3), (1, 1)),
    "scalar expanded": lambda: torch.tensor(2.5).expand(4, 4),
}


@pytest.mark.parametrize("name", STRIDED)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_requests_keep_strides(name: str, requires_grad: bool) -> None:
    """A view arrives with the same strides and elements, and still is a leaf if it asks for a gradient."""
    sent = STRIDED[name]()
    if requires_grad and sent.is_floating_point():
        sent = sent.detach().requires_grad_()
    got = crossed(sent, reply=False)
    assert got.stride() == sent.stride()
    assert alike(got.detach(), sent.detach())
    assert got.requires_grad == sent.requires_grad
    assert got.is_leaf


def test_replies_become_dense() -> None:
    """A reply's view, however it is strided, arrives contiguous, with the same elements."""
    for make in STRIDED.values():
        got = crossed(make(), reply=True)
        assert got.is_contiguous()
        assert alike(got, make().contiguous())


def test_requests_keep_lazy_conjugates() -> None:
    """A conjugate or negative that torch has not computed yet arrives as the numbers it stands for."""
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert crossed(x.conj(), reply=False).tolist() == [1 - 2j, 3 + 1j]
    assert crossed(x.conj().imag, reply=False).tolist() == [-2.0, 1.0]
    assert crossed(x.conj().imag, reply=True).tolist() == [-2.0, 1.0]


INDICES = torch.tensor([[0, 1, 1], [0, 2, 2]])


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("coalesced", [False, True])
def test_requests_keep_sparse_tensors(coalesced: bool, requires_grad: bool) -> None:
    """A sparse tensor arrives sparse, with its entries, its being coalesced and its wish for a gradient."""
    sent = torch.sparse_coo_tensor(INDICES, torch.tensor([1.0, 2.0, 3.0]), (2, 3), check_invariants=True)
    sent = sent.coalesce() if coalesced else sent
    got = crossed(sent.requires_grad_(requires_grad), reply=False)
    assert got.layout == torch.sparse_coo
    assert got.is_coalesced() == coalesced
    assert got.requires_grad == requires_grad
    assert got.detach().to_dense().tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]


def test_requests_keep_empty_sparse_tensors() -> None:
    """A sparse tensor without entries arrives with its shape."""
    got = crossed(torch.zeros(2, 3, dtype=torch.float16).to_sparse(), reply=False)
    assert (got.shape, got.dtype, got._nnz()) == ((2, 3), torch.float16, 0)


def test_parts_do_not_share_memory() -> None:
    """Writing into one argument changes no other, even if one tensor was sent twice."""
    x = torch.zeros(3)
    first, second, third = crossed([x, x, torch.zeros(3)], reply=False)
    first += 1
    assert second.tolist() == third.tolist() == x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("length", range(17))
def test_tensors_are_aligned(length: int) -> None:
    """Tensor data start at a multiple of 16 bytes, however long the header is."""
    got = crossed(["x" * length, torch.ones(3), torch.ones(5, dtype=torch.int8), torch.ones(1)], reply=False)
    assert [item.data_ptr() % 16 for item in got[1:]] == [0, 0, 0]


class _Opaque:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class _Claims:
    @property
    def __class__(self) -> Any:
        return torch.Tensor

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class _Int(int):
    pass


class _Lies(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        return torch.full((7,), 42.0)


class _Overrides(torch.Tensor):
    def numel(self) -> int:
        return 10**9

    def detach(self) -> Any:
        return "mine"

    def element_size(self) -> int:
        return 1 << 40


class _Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (2, 2))

    @classmethod
    def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
        return torch.zeros(2, 2)


def _nested() -> torch.Tensor:
    nested: torch.Tensor = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    return nested


def _itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


UNSENDABLE = {
    "object": (_Opaque, "type tests.test_wire._Opaque cannot"),
    "claims to be a tensor": (_Claims, "cannot cross the wire: AttributeError"),
    "subclass of int": (lambda: _Int(3), "_Int cannot cross"),
    "complex number": (lambda: 1j, "type builtins.complex"),
    "bytes": (lambda: b"", "type builtins.bytes"),
    "set": (lambda: {1}, "type builtins.set"),
    "Size": (lambda: torch.ones(2).shape, "type torch.Size"),
    "class": (lambda: int, "type builtins.type"),
    "lone surrogate": (lambda: "\ud800", "UnicodeEncodeError"),
    "tuple as key": (lambda: {(1, 2): 3}, "key of type tuple"),
    "tensor as key": (lambda: {torch.ones(2): 3}, "key of type Tensor"),
    "endless number": (lambda: 10**4000, "more than 4000 digits"),
    "number without text": (lambda: -(1 << 100_000), "more than 4000 digits"),
    "loop": (_itself, "nested too deeply"),
    "16 levels": (lambda: _deep(16), "nested too deeply"),
    "100000 levels": (lambda: _deep(100_000), "nested too deeply"),
    "too many parts": (lambda: [0] * 19_998, "too many parts"),
    "too long a text": (lambda: "x" * 300_000, "too large"),
    "257 tensors": (lambda: [torch.ones(1)] * 257, "too large"),
    "nine dimensions": (lambda: torch.ones([1] * 9), "too large"),
    "no elements, huge": (lambda: torch.empty(0, 2**40), "too large"),
    "2^40 elements of one": (lambda: torch.ones(1).expand(2**40), "too large"),
    "more than 64 MiB": (lambda: [torch.ones(2**20 * 5, dtype=torch.float64)] * 2, "too large"),
    "csr": (lambda: torch.eye(2).to_sparse_csr(), "sparse"),
    "meta": (lambda: torch.empty(3, device="meta"), "meta"),
    "nested": (_nested, "nested"),
}


@pytest.mark.filterwarnings("ignore:.*(beta|prototype) st:UserWarning")
@pytest.mark.parametrize("reply", [False, True])
@pytest.mark.parametrize("name", UNSENDABLE)
def test_what_cannot_cross_is_refused(name: str, reply: bool) -> None:
    """A value that the other side could not have taken is refused where it is made, in one sentence."""
    make, told = UNSENDABLE[name]
    with pytest.raises(ProtocolError, match=told):
        pack({"v": make()}, reply=reply)


def _quantised() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)


@pytest.mark.filterwarnings("ignore:.*quantiz")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: torch.eye(2).to_sparse(), "only dense"),
        (_quantised, "only dense"),
        (_Wrapper, "no memory of its own"),
        (lambda: torch.ones(2, dtype=torch.complex64), "complex64 cannot be returned"),
        (lambda: torch.ones(2).to(torch.float8_e5m2), "float8_e5m2 cannot be returned"),
        (lambda: torch.ones(2, dtype=torch.uint16), "uint16 cannot be returned"),
        (lambda: torch.ones(2**23 + 1, dtype=torch.int8), "too large to return"),
    ],
    ids=["sparse", "quantised", "wrapper", "complex", "fp8", "uint16", "elements"],
)
def test_what_no_reply_may_hold(make: Any, told: str) -> None:
    """Tensors that have no plain form, or another dtype than the listed ones, cannot be returned."""
    with pytest.raises(ProtocolError, match=told):
        pack({"v": make()}, reply=True)


def test_batched_tensors_are_refused() -> None:
    """A tensor that lives inside vmap has no bytes to send."""
    told = []

    def attempt(row: torch.Tensor) -> torch.Tensor:
        with pytest.raises(ProtocolError) as caught:
            pack({"v": row}, reply=True)
        told.append(str(caught.value))
        return row

    torch.func.vmap(attempt)(torch.ones(2, 3))
    assert told == ["a value cannot cross the wire: RuntimeError"]


@pytest.mark.parametrize("kind", [_Lies, _Overrides, torch.nn.Parameter])
def test_subclasses_become_plain(kind: Any) -> None:
    """Whatever a subclass says of itself, what arrives is a plain tensor with its bytes and no graph."""
    sent = kind(torch.tensor([1.0, 2.0])) if kind is torch.nn.Parameter else torch.tensor([1.0, 2.0]).as_subclass(kind)
    try:
        got = crossed(sent, reply=True)
    except ProtocolError:
        assert kind is _Overrides  # its lie is too large a tensor: refused is as good
        return
    assert type(got) is torch.Tensor
    assert got.tolist() == [1.0, 2.0]
    assert not got.requires_grad


def test_results_with_a_graph_become_plain() -> None:
    """A result that still requires a gradient arrives without its graph."""
    got = crossed(torch.ones(2, requires_grad=True) * 3, reply=True)
    assert (got.tolist(), got.requires_grad, got.grad_fn) == ([3.0, 3.0], False, None)


@pytest.mark.parametrize("reply", [False, True])
def test_the_largest_messages_pass(reply: bool) -> None:
    """What just fits the limits crosses: 15 levels, 19997 parts, 4000 digits, 256 tensors, 64 MiB."""
    for value in (_deep(15), [0] * 19_997, 1 - 10**4000, [torch.ones(1)] * 256):
        assert alike(crossed(value, reply=reply), value)
    for shape in ([1] * 8, [0, 2**23, 2**23, 2**16]):
        assert crossed(torch.zeros(shape), reply=reply).shape == tuple(shape)
    whole = torch.zeros(2**23, dtype=torch.float64)
    got = crossed(whole, reply=reply)
    assert got.shape == whole.shape


TABLE = [["float32", [2], 8]]
TWO = bytes(16)
HOSTILE = {
    "reference to nothing": (["T", 0], [], b""),
    "reference past the end": (["T", 1], TABLE, TWO),
    "negative reference": (["T", -1], TABLE, TWO),
    "reference true": (["T", False], TABLE, TWO),
    "reference 0.0": (["T", 0.0], TABLE, TWO),
    "reference without index": (["T"], TABLE, TWO),
    "strides in a reply": (["T", 0, {"stride": [2**40]}], TABLE, TWO),
    "requires_grad in a reply": (["T", 0, {"requires_grad": True}], TABLE, TWO),
    "flags of another form": (["T", 0, 3], TABLE, TWO),
    "sparse in a reply": (["S", [2], ["T", 0], ["T", 0], {}], TABLE, TWO),
    "sparse with too little": (["S"], TABLE, TWO),
    "fp8": (["T", 0], [["float8_e5m2", [8], 8]], TWO),
    "complex": (["T", 0], [["complex64", [1], 8]], TWO),
    "quantised": (["T", 0], [["qint8", [8], 8]], TWO),
    "a length of true": (["T", 0], [["uint8", [1], True]], TWO),
    "a length of true for bools": (["T", 0], [["bool", [1], True]], TWO),
    "dtype nonsense": (["T", 0], [["nonsense", [2], 8]], TWO),
    "dtype not a name": (["T", 0], [[["float32"], [2], 8]], TWO),
    "dtype with torch.": (["T", 0], [["torch.float32", [2], 8]], TWO),
    "longer than its shape": (["T", 0], [["float32", [2], 16]], TWO),
    "shorter than its shape": (["T", 0], [["float32", [4], 8]], TWO),
    "not whole elements": (["T", 0], [["float32", [1], 3]], TWO),
    "negative size": (["T", 0], [["float32", [-2], 8]], TWO),
    "two negative sizes": (["T", 0], [["float32", [-1, -2], 8]], TWO),
    "size 2.0": (["T", 0], [["float32", [2.0], 8]], TWO),
    "size true": (["T", 0], [["float32", [True, 2], 8]], TWO),
    "size null": (["T", 0], [["float32", [None], 8]], TWO),
    "no shape": (["T", 0], [["float32", 2, 8]], TWO),
    "nine dimensions": (["T", 0], [["float32", [1] * 9, 4]], TWO),
    "2^60 elements": (["T", 0], [["float32", [2**60], 2**62]], TWO),
    "2^60 bytes": (["T", 0], [["int8", [2**20], 2**60]], TWO),
    "shape that wraps to 0": (["T", 0], [["float32", [2**22, 2**22, 2**22], 0]], b""),
    "shape that wraps to 2": (["T", 0], [["int8", [2**23, 2**23, 2**18, 2], 2]], TWO),
    "no elements, endless strides": (["T", 0], [["float32", [0, *[2**23] * 7], 0]], b""),
    "endless, no elements": (["T", 0], [["float32", [*[2**23] * 7, 0], 0]], b""),
    "no elements, strides of 2^63": (["T", 0], [["float32", [0, 2**23, 2**23, 2**17], 0]], b""),
    "64 Mi bytes of int8": (["T", 0], [["int8", [8, 2**23], 2**26]], TWO),
    "negative length": (["T", 0], [["float32", [0], -8]], b""),
    "length 8.0": (["T", 0], [["float32", [2], 8.0]], TWO),
    "entry too long": (["T", 0], [["float32", [2], 8, 0]], TWO),
    "entry no list": (["T", 0], ["float32"], TWO),
    "table no list": (["T", 0], {"0": TABLE}, TWO),
    "257 tensors": (0, [["int8", [0], 0]] * 257, b""),
    "bytes that belong to nothing": (0, [], TWO),
    "more bytes than tensors": (["T", 0], TABLE, bytes(32)),
    "padding left out": (["T", 0], TABLE, bytes(8)),
    "overlapping the end": (["T", 0], [["float32", [2], 8], ["float32", [2], 8]], TWO),
    "unknown tag": (["x", 1], [], b""),
    "pickle tag": (["p", "gASVAAAA"], [], b""),
    "tag no text": ([1, 2], [], b""),
    "tag a list": ([["l"], 1], [], b""),
    "empty list": ([], [], b""),
    "object": ({"a": 1}, [], b""),
    "object inside": (["l", {}], [], b""),
    "float by another name": (["f", "Infinity"], [], b""),
    "float as number": (["f", 1.0], [], b""),
    "finite float as text": (["f", "1.0"], [], b""),
    "dtype that torch lacks": (["y", "nonsense"], [], b""),
    "no dtype": (["y", "nn"], [], b""),
    "dtype by its nickname": (["y", "half"], [], b""),
    "dtype from a submodule": (["y", "torch.float32"], [], b""),
    "int of 4001 digits": (["i", "1" * 4001], [], b""),
    "int of 10^5 digits": (["i", "1" * 100_000], [], b""),
    "int with _": (["i", "1_0"], [], b""),
    "int with spaces": (["i", " 10 "], [], b""),
    "int with +": (["i", "+10"], [], b""),
    "int with two signs": (["i", "--10"], [], b""),
    "int in other digits": (["i", "\u0663"], [], b""),
    "int raised": (["i", "\u00b2"], [], b""),
    "int of nothing": (["i", ""], [], b""),
    "int, only a sign": (["i", "-"], [], b""),
    "int as float": (["i", "1e3"], [], b""),
    "key twice": (["d", ["a", 1], ["a", 2]], [], b""),
    "key twice, 1 and true": (["d", [1, 1], [True, 2]], [], b""),
    "key a list": (["d", [["l"], 1]], [], b""),
    "key a tensor": (["d", [["T", 0], 1]], TABLE, TWO),
    "key a tuple": (["d", [["t", 1], 1]], [], b""),
    "pair of three": (["d", ["a", 1, 2]], [], b""),
    "pair no list": (["d", "ab"], [], b""),
    "17 levels": (json.loads('["l",' * 17 + "0" + "]" * 17), [], b""),
    "20001 parts": (["l", *[0] * 20_001], [], b""),
    "20001 keys": (["d", *[[str(i), 0] for i in range(10_001)]], [], b""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_are_refused(name: str) -> None:
    """A reply of a form that no honest side makes raises ProtocolError and nothing else."""
    node, table, body = HOSTILE[name]
    with pytest.raises(ProtocolError):
        reply_of(node, table, body)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"x",
        b"null",
        b"[]",
        b"[[]]",
        b'{"tensors":[],"message":{"v":1}}',
        b'[[],["d",["v",1]],[]]',
        b'[[],["l",1]]',
        b"[[],1]",
        b'[[],["d",[1,2]]]',
        b'[[],["d",[null,2]]]',
        b'[[],["d",["v",1e999]]]',
        b'[[],["d",["v",-1e999]]]',
        b'[[],["d",["v",NaN]]]',
        b'[[],["d",["v",Infinity]]]',
        b'[[],["d",["v",1]],]',
        b'[[],["d",["v",1]]] []',
        b'[[],["d",["v","\xff"]]]',
        b'[[],["d",["v","\xed\xa0\x80"]]]',
        b'[[],["d",["v","\\ud800"]]]',
        b'[[],["d",["v",' + b"9" * 5000 + b"]]]",
        b'\xef\xbb\xbf[[],["d",["v",1]]]',
        b"[" * 200_000,
        b'{"a":' * 50_000,
    ],
    ids=lambda header: header[:30].decode("latin-1"),
)
def test_headers_are_strict_json(header: bytes) -> None:
    """A header is one JSON list, strict, finite, in UTF-8, of a table and a message with text keys."""
    with pytest.raises(ProtocolError):
        unpack_frame(frame(header), reply=True)


@pytest.mark.parametrize(
    "head",
    [
        HEAD.pack(b"NGR2", 10, 10),
        HEAD.pack(b"NGR1", 2**32 - 1, 0),
        HEAD.pack(b"NGR1", 256 * 1024 + 1, 0),
        HEAD.pack(b"NGR1", 0, 2**60),
        HEAD.pack(b"NGR1", 0, 2**64 - 1),
        HEAD.pack(b"NGR1", 0, 64 * 2**20 + 1),
    ],
)
def test_lengths_are_bounded(head: bytes) -> None:
    """The first bytes alone tell that a frame is none of ours or too large."""
    with pytest.raises(ProtocolError):
        lengths(head)


def test_lengths() -> None:
    """The largest lengths that are allowed are told."""
    assert lengths(HEAD.pack(b"NGR1", 256 * 1024, 64 * 2**20)) == (256 * 1024, 64 * 2**20)


@pytest.mark.parametrize("cut", [0, 1, 4, 15, 16, -1])
def test_incomplete_frames_are_refused(cut: int) -> None:
    """A frame that ends early, or goes on behind its end, is refused."""
    whole = pack({"v": torch.ones(3)}, reply=True)
    for broken in (whole[:cut], whole + b"\0"):
        with pytest.raises(ProtocolError):
            unpack_frame(broken, reply=True)


def test_bools_are_bools() -> None:
    """A byte of 7 in a bool tensor arrives as True, not as a bool that is neither True nor False."""
    got = reply_of(["T", 0], [["bool", [3], 3]], bytes([0, 1, 7]) + bytes(13))
    assert got.view(torch.uint8).tolist() == [0, 1, 1]


def test_one_tensor_twice() -> None:
    """A reply names each of its tensors once: else a few bytes could name gigabytes to whoever describes them."""
    with pytest.raises(ProtocolError, match="one tensor twice"):
        reply_of(["l", ["T", 0], ["T", 0]], TABLE, TWO)


def test_names_are_not_looked_up_in_torch() -> None:
    """A dtype's name out of a reply imports nothing, not even what torch loads when it is asked for."""
    script = """
import sys
import pytest
from grader.wire import ProtocolError
from tests.test_wire import reply_of
lazy = [name for name in ("onnx", "_inductor", "_dynamo", "_export") if f"torch.{name}" not in sys.modules]
assert lazy
for name in lazy:
    with pytest.raises(ProtocolError):
        reply_of(["y", name])
    assert f"torch.{name}" not in sys.modules
"""  # in a process of its own: other tests have made torch load them
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parent.parent)


def test_hostile_replies_allocate_nothing() -> None:
    """However much a reply claims to hold, no more memory is taken than came over the wire."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for size in (2**23, 2**30, 2**40, 2**60):
        for shape in ([size], [size, 0], [1, size], [2**20, 2**20, size]):
            with pytest.raises(ProtocolError):
                reply_of(["T", 0], [["float64", shape, size * 8]], TWO)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; one 2^23 tensor takes 65 536


def plain(value: Any, body: int) -> bool:
    """``value`` is made of nothing but the promised types, and no tensor is larger than what came."""
    if isinstance(value, torch.Tensor):
        return type(value) is torch.Tensor and value.dtype in REPLY_DTYPES and value.nbytes <= body
    if type(value) in (list, tuple):
        return all(plain(item, body) for item in value)
    if type(value) is dict:
        return all(plain(key, body) and plain(item, body) for key, item in value.items())
    return value is None or type(value) in (bool, int, float, str, torch.dtype)


@SETTINGS
@given(st.binary(max_size=60), st.booleans())
def test_garbage_is_refused(data: bytes, with_head: bool) -> None:
    """Random bytes raise ProtocolError, also behind a right beginning."""
    with pytest.raises(ProtocolError):
        unpack_frame(frame(data) if with_head else data, reply=True)


@SETTINGS
@given(
    values(REPLY_DTYPES), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 2), st.integers(0, 255)), min_size=1)
)
def test_mutated_frames_are_refused_or_plain(value: Any, edits: list[tuple[int, int, int]]) -> None:
    """A frame with bytes changed, left out or added raises ProtocolError, or still holds plain data."""
    data = bytearray(pack({"v": value}, reply=True))
    for position, kind, byte in edits:
        index = position % (len(data) + 1)
        data[index : index + (kind != 1)] = bytes([byte]) if kind else b""
    size = len(data)
    try:
        got = unpack_frame(bytes(data), reply=True)
    except ProtocolError:
        return
    assert plain(got, size)


@SETTINGS
@given(values(REPLY_DTYPES), st.data())
def test_mutated_headers_are_refused_or_plain(value: Any, data: st.DataObject) -> None:
    """As above where only the text of the header changes, by characters that JSON and this format use."""
    whole = pack({"v": value}, reply=True)
    length = int.from_bytes(whole[4:8], "little")
    header, body = bytearray(whole[16 : 16 + length]), whole[16 + length :]
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(header) - 1))
        header[index : index + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(list(b'0123456789-."ltdTSfyi[],'))
        ).to_bytes(1, "little")
    try:
        got = unpack_frame(frame(bytes(header), body), reply=True)
    except ProtocolError:
        return
    assert plain(got, len(body))


TAGS = st.sampled_from(["l", "t", "d", "T", "S", "f", "y", "i", "float32", "int8", "bool", "nan", "1", ""])
LEAVES = st.one_of(
    TAGS, st.integers(-2, 20), st.sampled_from([2**23, 2**31, 2**62, 2**63, 2**64]), st.floats(), st.none()
)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=5), max_leaves=25)
ENTRIES = st.tuples(
    TAGS, st.lists(st.integers(-1, 3) | st.sampled_from([2**23, 2**40]), max_size=9), st.integers(-1, 40)
)


@SETTINGS
@given(st.lists(ENTRIES, max_size=3) | JSON, JSON, st.sampled_from([0, 1, 16, 32, 48]))
def test_any_json_is_refused_or_plain(table: Any, node: Any, size: int) -> None:
    """JSON of the right look and the wrong sense raises ProtocolError, or holds plain data."""
    try:
        got = reply_of(node, table, bytes(size))
    except ProtocolError:
        return
    assert plain(got, size)


def test_the_body_is_not_copied() -> None:
    """Tensors lie in the memory that was given: a large reply costs its size once."""
    whole = bytearray(pack({"v": torch.ones(4)}, reply=True))
    length = int.from_bytes(whole[4:8], "little")
    view = memoryview(whole)
    got = unpack(view[16 : 16 + length], view[16 + length :], reply=True)["v"]
    got += 1
    assert bytes(view[16 + length :]) == raw(torch.full((4,), 2.0))


def test_limits_are_those_of_the_design() -> None:
    """The bounds of a reply are the documented ones."""
    found = {name: getattr(wire, name) for name in vars(wire) if name.startswith("MAX_")}
    assert found == {
        "MAX_HEADER": 256 * 1024, "MAX_BODY": 64 * 2**20, "MAX_TENSORS": 256, "MAX_ELEMENTS": 8 * 2**20,
        "MAX_DIMENSIONS": 8, "MAX_DEPTH": 16, "MAX_NODES": 20_000, "MAX_DIGITS": 4000,
    }  # fmt: skip
