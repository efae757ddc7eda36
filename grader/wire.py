"""The wall between trusted and untrusted: frames of strict JSON and raw tensor bytes over a stream socket.

A frame is ``magic, u32 header length, u64 body length, header, body``. The header is JSON in which everything that
JSON cannot say exactly is a tagged list (so there are no objects, whose keys could come twice); tensors lie in the
body one after the other, each at a multiple of 16 bytes. Never pickle: decoding only ever makes the types listed in
:func:`pack`.

Requests come from the trusted side and may describe strides, sparse layouts and ``requires_grad``. Replies come
from code that may be hostile: they are bounded before anything is allocated, and whatever does not fit raises
:class:`ProtocolError`. What :func:`pack` lets through, :func:`unpack` accepts: an honest value that is too large or
too odd is refused where it is made.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import msgspec
import torch

__all__ = ["HEAD", "ProtocolError", "lengths", "pack", "unpack", "unpack_frame"]

MAGIC = b"NGR1"
HEAD = struct.Struct("<4sIQ")
MAX_HEADER = 256 * 1024
MAX_BODY = 64 * 1024 * 1024
MAX_TENSORS = 256
MAX_ELEMENTS = 8 * 1024 * 1024  # of a reply's tensor, and the longest dimension of any
MAX_DIMENSIONS = 8
MAX_DEPTH = 16
MAX_NODES = 20_000
MAX_DIGITS = 4000  # below Python's own limit for turning text into an int
ALIGNMENT = 16  # no element type is wider

REPLY_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
        torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool,
    )
}  # fmt: skip
REQUEST_DTYPES = REPLY_DTYPES | {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32, torch.complex64, torch.complex128)
}
NAMES = {dtype: name for name, dtype in REQUEST_DTYPES.items()}
# As values, all dtypes. A table, because asking torch for a name that came over the wire may import half of torch.
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
KEY_TYPES = (str, int, float, bool, type(None), torch.dtype)
TOO_LONG = 10**MAX_DIGITS
DISPATCH = torch.Tensor.__torch_dispatch__


class ProtocolError(Exception):
    """A frame that this protocol does not allow, or a value that it cannot carry."""


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


class _Packer:
    def __init__(self, reply: bool) -> None:
        self.reply = reply
        self.tensors: list[list[Any]] = []
        self.body: list[bytes] = []
        self.length = 0
        self.nodes = 1
        self.depth = 0

    def node(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else _long(value)
        if kind is float:
            return value if math.isfinite(value) else ["f", repr(value)]
        if kind is list or kind is tuple:
            self.enter(len(value))
            items = ["l" if kind is list else "t", *map(self.node, value)]
            self.depth -= 1
            return items
        if kind is dict:
            self.enter(2 * len(value))
            pairs = ["d"] + [[k if type(k) is str else self.key(k), self.node(item)] for k, item in value.items()]
            self.depth -= 1
            return pairs
        if kind is torch.dtype:
            return ["y", str(value).removeprefix("torch.")]
        if isinstance(value, torch.Tensor):
            return self.reply_tensor(value) if self.reply else self.tensor(value)
        raise ProtocolError(f"a value of type {kind.__module__}.{kind.__qualname__} cannot cross the wire")

    def enter(self, parts: int) -> None:
        self.nodes += parts
        self.depth += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:
            raise ProtocolError(
                f"a value is nested too deeply or has too many parts (at most {MAX_DEPTH} levels and {MAX_NODES} parts)"
            )

    def key(self, value: Any) -> Any:
        if type(value) not in KEY_TYPES:
            raise ProtocolError(f"a dictionary with a key of type {type(value).__qualname__} cannot cross the wire")
        return self.node(value)

    def reply_tensor(self, value: torch.Tensor) -> Any:
        value = _plain(value)
        return ["T", self.add(value, list(value.shape))]

    def tensor(self, value: torch.Tensor) -> Any:
        flags: dict[str, Any] = {"requires_grad": True} if value.requires_grad else {}
        value = value.detach()
        if value.is_conj() or value.is_neg():  # lazily: their bytes are still those of another tensor
            value = value.resolve_conj().resolve_neg()
        if value.layout == torch.sparse_coo:
            if value.is_coalesced():
                flags["is_coalesced"] = True
            self.nodes += 2
            return ["S", list(value.shape), self.tensor(value._indices()), self.tensor(value._values()), flags]
        if value.layout != torch.strided or value.is_nested:
            raise ProtocolError(f"nested tensors and those of layout {value.layout} cannot cross the wire")
        if not value.is_contiguous() and value.numel():
            # Ships the stretch of storage that the view covers, so that the other side sees the same strides.
            stretch = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
            flags["stride"] = list(value.stride())
            return ["T", self.add(value.as_strided((stretch,), (1,)), list(value.shape)), flags]
        index = self.add(value.contiguous(), list(value.shape))
        return ["T", index, flags] if flags else ["T", index]

    def add(self, value: torch.Tensor, shape: list[int]) -> int:
        if value.dtype not in NAMES or not value.is_cpu:
            raise ProtocolError(f"tensors of dtype {value.dtype} on {value.device} cannot cross the wire")
        length = value.numel() * value.element_size()
        if len(shape) > MAX_DIMENSIONS or max(shape, default=0) > MAX_ELEMENTS or self.length + length > MAX_BODY:
            raise ProtocolError(f"a tensor of shape {tuple(shape)} is too large to cross the wire")
        self.body.append(_bytes_of(value))
        if padding := -length % ALIGNMENT:
            self.body.append(bytes(padding))
        self.tensors.append([NAMES[value.dtype], shape, length])
        self.length += length + padding
        return len(self.tensors) - 1


def _long(value: int) -> list[str]:
    if not -TOO_LONG < value < TOO_LONG:
        raise ProtocolError(f"a whole number of more than {MAX_DIGITS} digits cannot cross the wire")
    return ["i", str(value)]


def _plain(value: torch.Tensor) -> torch.Tensor:
    """A student's tensor as nothing but dtype, shape and bytes; refuses what has no such form or is too large."""
    with torch._C.DisableTorchFunctionSubclass():  # a subclass must not see, or bend, its own unwrapping
        if value.layout != torch.strided or value.is_quantized or value.is_nested or value.is_meta:
            raise ProtocolError("only dense tensors can be returned, not sparse, quantised, nested or meta ones")
        if type(value) is not torch.Tensor:
            if type(value).__torch_dispatch__ is not DISPATCH:
                raise ProtocolError(f"a {type(value).__qualname__} has no memory of its own and cannot be returned")
            value = torch.Tensor.as_subclass(value, torch.Tensor)
        if NAMES.get(value.dtype) not in REPLY_DTYPES:
            raise ProtocolError(f"a tensor of dtype {value.dtype} cannot be returned here")
        if value.numel() > MAX_ELEMENTS or value.dim() > MAX_DIMENSIONS:
            raise ProtocolError(f"a tensor of shape {tuple(value.shape)} is too large to return")
        return value.detach().cpu().resolve_neg().contiguous()


def pack(message: dict[str, Any], *, reply: bool = False) -> bytes:
    """One frame. Values: None, bool, str, int, float, list, tuple, dict, torch.dtype and tensors, exact types only.

    A reply's tensors are copied as plain dense data. Raises ProtocolError, and nothing else, for anything else and
    for what is too large.
    """
    packer = _Packer(reply)
    try:
        node = packer.node(message)
        header = msgspec.json.encode([packer.tensors, node])
    except ProtocolError:
        raise
    except Exception as error:  # noqa: BLE001 - a tensor's class may raise whatever it likes at any touch
        raise ProtocolError(f"a value cannot cross the wire: {type(error).__name__}") from None
    header += b" " * (-len(header) % ALIGNMENT)  # so that the body, too, is aligned
    if len(header) > MAX_HEADER or packer.length > MAX_BODY or len(packer.tensors) > MAX_TENSORS:
        raise ProtocolError(
            f"a message of {len(header)} bytes, {len(packer.tensors)} tensors and {packer.length} bytes of tensor data "
            f"is too large (at most {MAX_HEADER}, {MAX_TENSORS} and {MAX_BODY})"
        )
    return b"".join([HEAD.pack(MAGIC, len(header), packer.length), header, *packer.body])


def lengths(head: bytes) -> tuple[int, int]:
    """Header and body length from the first ``HEAD.size`` bytes; ProtocolError if they are not a frame's."""
    magic, header, body = HEAD.unpack(head)
    if magic != MAGIC or header > MAX_HEADER or body > MAX_BODY:
        raise ProtocolError("what arrived is not a frame of this protocol")
    return header, body


class _Unpacker:
    def __init__(self, tensors: list[torch.Tensor], shapes: list[list[int]], reply: bool) -> None:
        self.tensors = tensors
        self.shapes = shapes
        self.reply = reply
        self.nodes = 0
        self.named: set[int] = set()

    def value(self, node: Any, depth: int = 0) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise ProtocolError("a message is nested too deeply or has too many parts")
        if node is None or isinstance(node, (bool, str, int)):
            return node
        if isinstance(node, float):
            if not math.isfinite(node):  # JSON can spell 1e999
                raise ProtocolError("a number in a message is not finite")
            return node
        if not isinstance(node, list) or not node:
            raise ProtocolError("a message has a part of unknown form")
        tag, *rest = node
        match tag:
            case "l":
                return [self.value(item, depth + 1) for item in rest]
            case "t":
                return tuple(self.value(item, depth + 1) for item in rest)
            case "d":
                return self.dictionary(rest, depth)
            case "T":
                return self.tensor(rest)
            case "S" if not self.reply:
                return self.sparse(*rest)
        if len(rest) == 1 and isinstance(rest[0], str):
            return _scalar(tag, rest[0])
        raise ProtocolError("a message has a part of unknown form")

    def dictionary(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ProtocolError("a dictionary in a message has a pair of unknown form")
            key = pair[0]
            if type(key) is str:  # nearly all are
                self.nodes += 1
            else:
                key = self.value(key, depth + 1)
            if not isinstance(key, KEY_TYPES) or key in result:
                raise ProtocolError("a dictionary in a message has a key twice or of an unknown type")
            result[key] = self.value(pair[1], depth + 1)
        return result

    def tensor(self, rest: list[Any]) -> torch.Tensor:
        if not rest or (self.reply and len(rest) > 1):
            raise ProtocolError("a message has a part of unknown form")
        index, *more = rest
        if type(index) is not int or not 0 <= index < len(self.tensors):
            raise ProtocolError("a message refers to a tensor that it does not hold")
        if self.reply and index in self.named:  # as `pack` writes it; else a few bytes could name gigabytes
            raise ProtocolError("a message refers to one tensor twice")
        self.named.add(index)
        tensor, shape = self.tensors[index], self.shapes[index]
        flags = more[0] if more else {}
        stride = flags.get("stride")
        tensor = tensor.as_strided(shape, stride) if stride else tensor.view(shape)
        return tensor.requires_grad_() if flags.get("requires_grad") else tensor

    def sparse(self, shape: list[int], indices: Any, values: Any, flags: dict[str, Any]) -> torch.Tensor:
        parts = self.value(indices), self.value(values)
        return torch.sparse_coo_tensor(*parts, shape, check_invariants=True, **flags)  # unchecked, torch would warn


def _scalar(tag: Any, text: str) -> Any:
    if tag == "f" and text in ("nan", "inf", "-inf"):
        return float(text)
    if tag == "y" and text in DTYPES:
        return DTYPES[text]
    digits = text.removeprefix("-")
    if tag == "i" and len(digits) <= MAX_DIGITS and digits.isascii() and digits.isdecimal():
        return int(text)
    raise ProtocolError("a message has a part of unknown form")


def _tensors(
    table: Any, body: bytes | bytearray | memoryview, reply: bool
) -> tuple[list[torch.Tensor], list[list[int]]]:
    dtypes = REPLY_DTYPES if reply else REQUEST_DTYPES
    tensors, shapes, offset = [], [], 0
    if not isinstance(table, list) or len(table) > MAX_TENSORS:
        raise ProtocolError("a message has too many tensors")
    for entry in table:
        match entry:
            case [str(name), list(shape), int(length)] if name in dtypes and len(shape) <= MAX_DIMENSIONS:
                pass
            case _:
                raise ProtocolError("a message has a tensor of unknown form")
        # By type, because True is an int too, and torch does not take it for one.
        if (
            any(type(n) is not int or not 0 <= n <= MAX_ELEMENTS for n in shape)
            or type(length) is not int
            or length < 0
        ):
            raise ProtocolError("a tensor in a message has an impossible shape")
        dtype = dtypes[name]
        if reply:
            elements = math.prod(shape)
            if elements > MAX_ELEMENTS or math.prod(filter(None, shape)) >= 2**63:  # of no elements, but with strides
                raise ProtocolError("a tensor in a message has an impossible shape")
            if length != elements * dtype.itemsize:
                raise ProtocolError("a tensor in a message has another length than its shape")
        if offset + length > len(body):
            raise ProtocolError("a tensor in a message lies outside of it")
        if length == 0:
            tensors.append(torch.empty(0, dtype=dtype))
        elif dtype == torch.bool:  # a byte other than 0 and 1 is no bool, and torch would believe it
            tensors.append(torch.frombuffer(body, dtype=torch.uint8, count=length, offset=offset) != 0)
        else:
            tensors.append(torch.frombuffer(body, dtype=dtype, count=length // dtype.itemsize, offset=offset))
        shapes.append(shape)
        offset += length + -length % ALIGNMENT
    if offset != len(body):
        raise ProtocolError("a message has bytes that belong to nothing")
    return tensors, shapes


def unpack(
    header: bytes | bytearray | memoryview, body: bytearray | memoryview, *, reply: bool = False
) -> dict[str, Any]:
    """The message of one frame. Its tensors share the memory of ``body``, which must be writable.

    With ``reply`` the frame is untrusted: only dense tensors of the listed dtypes, within all limits. Raises
    ProtocolError, and nothing else, for whatever bytes it is given.
    """
    try:
        document = msgspec.json.decode(header)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        raise ProtocolError("a message is not JSON") from None
    match document:
        case [table, ["d", *_] as node]:
            tensors, shapes = _tensors(table, body, reply)
            message = _Unpacker(tensors, shapes, reply).value(node)
            if all(type(key) is str for key in message):
                return message  # type: ignore[no-any-return]
    raise ProtocolError("a message has no content")


def unpack_frame(frame: bytes, *, reply: bool = False) -> dict[str, Any]:
    """The message of one whole frame in memory; see :func:`unpack`."""
    header, body = lengths(frame[: HEAD.size].ljust(HEAD.size))
    if len(frame) != HEAD.size + header + body:
        raise ProtocolError("a frame is shorter or longer than it says")
    view = memoryview(bytearray(frame))
    return unpack(view[HEAD.size : HEAD.size + header], view[HEAD.size + header :], reply=reply)
