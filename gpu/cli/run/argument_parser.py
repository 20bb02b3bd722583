"""Kernel arguments as they are written on a command line.

    u32=1024  f32=-1.5  f32x4=1,2,3,4   a value, or a vector of them
    f32[1024]                           a buffer of zeros
    i32[64,64]=iota                     0, 1, 2 ...; iota:START or iota:START:STEP
    f32[1024]=random:1                  from seed 1; random:SEED:LOW:HIGH for a range
    u8[256]=7   u32[4]=1,2,3,4          every element the same, or each
    f32[1024]=a.npy   a.npy             the file's elements
    out:f32[1024]   inout:a.npy         the same, and shown when the kernel has ended
    local=4096                          that many bytes of LDS, for a pointer into it
    bytes=0011aaff                      a structure, byte by byte
    null                                a null pointer

Element types: i8 i16 i32 i64, u8 u16 u32 u64, f16 f32 f64.

Invariant: the same text gives the same bytes on every machine.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from tokenize import TokenError
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.code_object import LocalBytes
from runtime.files import read_bounded
from runtime.prng import hash64, mix64_array
from slicc.text.lazy_dataclass import dataclass

Values = npt.NDArray[Any]

TYPES: Final[dict[str, np.dtype[Any]]] = {
    f"{letter}{8 * size}": np.dtype(f"{kind}{size}")
    for letter, kind, sizes in (
        ("i", "i", (1, 2, 4, 8)),
        ("u", "u", (1, 2, 4, 8)),
        ("f", "f", (2, 4, 8)),
    )
    for size in sizes
}
LARGEST: Final = 1 << 30
"""Bytes of one buffer."""
_BUFFER: Final = re.compile(r"([a-z]\d+)\[([^\]]*)\](?:=(.*))?", re.DOTALL)
_VALUE: Final = re.compile(r"([a-z]\d+)(?:x(2|3|4|8|16))?=(.*)", re.DOTALL)
_ROLE: Final = re.compile(r"(in|out|inout):(.*)", re.DOTALL)
_COUNTER_STEP: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_PIECE: Final = 1 << 20
_DIMENSIONS: Final = 32
_HEADERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""Of numpy files, by version; the third is for names of fields."""


class ArgumentTextError(ValueError):
    """The text is no argument. The message quotes it."""


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """Memory whose address a kernel is given; ``shown`` when it has ended."""

    values: Values
    shown: bool


@dataclass(frozen=True, slots=True)
class PlainArgument:
    """Anything that `gpu.code_object.pack_arguments` accepts unchanged."""

    value: object


Argument = BufferArgument | PlainArgument


def read_argument(text: str) -> Argument:
    """The argument that a text means. Raises `ArgumentTextError`."""
    try:
        return _read(text)
    except ArgumentTextError as error:
        raise ArgumentTextError(f"argument {_quoted(text)}: {error}") from None


def _read(text: str) -> Argument:
    role = _ROLE.fullmatch(text)
    shown, body = (role[1] != "in", role[2]) if role else (False, text)
    buffer = _BUFFER.fullmatch(body)
    if buffer:
        count, shape = _shape(buffer[2])
        kind = _type(buffer[1])
        if count * kind.itemsize > LARGEST:
            raise ArgumentTextError(f"{count * kind.itemsize} bytes are more than {LARGEST}")
        return BufferArgument(fill(kind, count, buffer[3]).reshape(shape), shown)
    if body.endswith(".npy"):
        return BufferArgument(load_numpy(body), shown)
    if role:
        raise ArgumentTextError("only buffers go in or out: out:f32[1024], inout:values.npy")
    return PlainArgument(_plain(body))


def _plain(text: str) -> object:
    if text == "null":
        return None
    name, _, rest = text.partition("=")
    if name == "local":
        return LocalBytes(_integer(rest, "bytes of LDS"))
    if name == "bytes":
        try:
            return bytes.fromhex(rest)
        except ValueError:
            raise ArgumentTextError(f"{_quoted(rest)} is not hexadecimal") from None
    match = _VALUE.fullmatch(text)
    if match is None:
        raise ArgumentTextError(
            "is neither a value (u32=1024), nor a buffer (f32[1024]=random:1, out:i32[64], "
            "values.npy), nor local=BYTES, bytes=HEX, null"
        )
    kind, lanes = _type(match[1]), int(match[2] or 1)
    numbers = _list(kind, match[3])
    if len(numbers) != lanes:
        raise ArgumentTextError(f"takes {lanes} values, {len(numbers)} are given")
    return numbers if lanes > 1 else numbers[0]


def fill(kind: np.dtype[Any], count: int, text: str | None) -> Values:
    """``count`` elements as an initialiser says; without one, zeros. Raises ArgumentTextError."""
    if not text:
        return np.zeros(count, kind)
    name, *numbers = text.split(":")
    if name == "iota":
        return _in_pieces(kind, count, _iota(kind, count, numbers, text))
    if name == "random":
        return _in_pieces(kind, count, _random(kind, numbers, text))
    if text.endswith(".npy"):
        values = load_numpy(text).reshape(-1)
        if len(values) != count:
            raise ArgumentTextError(f"{text} has {len(values)} elements, not {count}")
        if values.dtype != kind:
            raise ArgumentTextError(f"{text} holds {values.dtype}, not {kind}")
        return values
    values = _list(kind, text)
    if len(values) not in (1, count):
        raise ArgumentTextError(f"{len(values)} elements are given for {count}")
    return np.resize(values, count)


def _in_pieces(kind: np.dtype[Any], count: int, make: Callable[[Values], Values]) -> Values:
    """Elements by their indices, made piece by piece: intermediate values may be larger."""
    values = np.empty(count, kind)
    for first in range(0, count, _PIECE):
        index = np.arange(first, min(first + _PIECE, count))
        values[first : first + len(index)] = make(index)
    return values


def _iota(
    kind: np.dtype[Any], count: int, numbers: list[str], text: str
) -> Callable[[Values], Values]:
    """start + step * index. Integers wrap around; fractions are truncated."""
    start, step = _numbers(numbers, (0, 1), text)
    last = start + step * (count - 1)
    whole = isinstance(start, int) and isinstance(step, int)
    if whole and (kind.kind != "f" or max(abs(start), abs(step), abs(last)) < 1 << 63):
        first, pace = (np.uint64(int(number) % (1 << 64)) for number in (start, step))

        def wrapped(index: Values) -> Values:
            with np.errstate(over="ignore"):
                signed = (first + pace * index.astype(np.uint64)).view(np.int64)
                return signed.astype(kind)

        return wrapped
    if kind.kind != "f" and not all(-(1 << 63) <= number < 1 << 63 for number in (start, last)):
        raise ArgumentTextError(f"{_quoted(text)} leaves the integers of 64 bits")

    def rounded(index: Values) -> Values:
        with np.errstate(over="ignore", invalid="ignore"):
            values = float(start) + float(step) * index
            return (values if kind.kind == "f" else values.astype(np.int64)).astype(kind)

    return rounded


def _random(kind: np.dtype[Any], numbers: list[str], text: str) -> Callable[[Values], Values]:
    """From a hash of seed and index: floats of [0, 1) or [low, high), integers of the whole type
    or of [low, high)."""
    if len(numbers) not in (1, 3):
        raise ArgumentTextError(f"{_quoted(text)} is not random:SEED or random:SEED:LOW:HIGH")
    key = np.uint64(hash64(_integer(numbers[0], "a seed"), 1))

    def bits(index: Values) -> Values:
        with np.errstate(over="ignore"):
            counted: Values = index.astype(np.uint64) + np.uint64(1)
            return mix64_array(counted * _COUNTER_STEP + key)

    if kind.kind == "f":
        return _random_floats(kind, _numbers(numbers[1:], (0, 1), text), bits)
    if len(numbers) == 1:
        return lambda index: bits(index).astype(kind)
    low, high = (_integer(number, "a bound") for number in numbers[1:])
    limits = np.iinfo(kind)
    if not limits.min <= low < high <= limits.max + 1:
        raise ArgumentTextError(f"{low} to {high} is no range of {kind}")

    def between(index: Values) -> Values:
        offsets = bits(index)
        if high - low < 1 << 64:
            offsets %= np.uint64(high - low)
        with np.errstate(over="ignore"):
            return (offsets + np.uint64(low % (1 << 64))).astype(kind)

    return between


def _random_floats(
    kind: np.dtype[Any], bounds: tuple[float, float], bits: Callable[[Values], Values]
) -> Callable[[Values], Values]:
    low, high = bounds
    if not (low < high and math.isfinite(high - low) and _finite(kind, low, high)):
        raise ArgumentTextError(f"{low} to {high} is no range of {kind}")

    def between(index: Values) -> Values:
        unit = (bits(index) >> np.uint64(11)).astype(np.float64) / 2.0**53
        with np.errstate(over="ignore"):
            return (low + (high - low) * unit).astype(kind)

    return between


# ------------------------------------------------------------------ small parts


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _type(name: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise ArgumentTextError(f"{_quoted(name)} is no element type: {' '.join(TYPES)}")
    return TYPES[name]


def _shape(text: str) -> tuple[int, tuple[int, ...]]:
    shape = tuple(_integer(part, "a number of elements") for part in re.split("[,x]", text))
    if len(shape) > _DIMENSIONS:
        raise ArgumentTextError(f"{len(shape)} dimensions are more than {_DIMENSIONS}")
    if min(shape) < 1:
        raise ArgumentTextError(f"[{text}] has no elements")
    return math.prod(shape), shape


def _integer(text: str, what: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise ArgumentTextError(f"{_quoted(text)} is not {what}") from None
    if abs(value) >= 1 << 64:
        raise ArgumentTextError(f"{_quoted(text)} is too large")
    return value


def _numbers(texts: list[str], default: tuple[float, float], whole: str) -> tuple[float, float]:
    if len(texts) > 2:
        raise ArgumentTextError(f"{_quoted(whole)} has too many numbers")
    found = [_number(text) for text in texts]
    return (found[0] if found else default[0]), (found[1] if len(found) > 1 else default[1])


def _number(text: str) -> float:
    try:
        value = int(text, 0)
    except ValueError:
        pass
    else:
        if abs(value) < 1 << 64:
            return value
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    try:
        return float(text)
    except ValueError:
        raise ArgumentTextError(f"{_quoted(text)} is not a number") from None


def _list(kind: np.dtype[Any], text: str) -> Values:
    parts = [part.strip() for part in text.split(",")]
    numbers = [_number(part) for part in parts]
    if kind.kind != "f":
        limits = np.iinfo(kind)
        for part, number in zip(parts, numbers, strict=True):
            if not limits.min <= number <= limits.max:
                raise ArgumentTextError(f"{_quoted(part)} does not fit {limits.bits} bits")
            if number != int(number):
                raise ArgumentTextError(f"{_quoted(part)} is not an integer")
        return np.array([int(number) for number in numbers], kind)
    for part, number in zip(parts, numbers, strict=True):
        if not (_finite(kind, number) or math.isnan(number) or "inf" in part.lower()):
            raise ArgumentTextError(f"{_quoted(part)} does not fit {8 * kind.itemsize} bits")
    return np.array(numbers, np.float64).astype(kind)


def _finite(kind: np.dtype[Any], *numbers: float) -> bool:
    """Whether they are finite as floats of this type."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.array(numbers, np.float64).astype(kind)).all())


def load_numpy(path: str) -> Values:
    """What a numpy file of one of the element types holds. Raises ArgumentTextError."""
    try:
        data = read_bounded(path, LARGEST)
    except OSError as error:
        raise ArgumentTextError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > LARGEST:
        raise ArgumentTextError(f"{path} is larger than {LARGEST} bytes")
    shape, columns_first, kind, start = _header(data, path)
    values = np.frombuffer(memoryview(data)[start:], kind)
    if math.prod(shape) != len(values):
        raise ArgumentTextError(
            f"{path} has {len(values)} elements, and says that there are {math.prod(shape)}"
        )
    if not len(values):
        raise ArgumentTextError(f"{path} holds no elements")
    ordered = values.reshape(shape, order="F" if columns_first else "C")
    return np.ascontiguousarray(ordered.astype(kind.newbyteorder("<")))


def _header(data: bytes, path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether the first index runs fastest, element type, and where the elements begin."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = _HEADERS.get(version)
        if read is None:
            raise ValueError
        with warnings.catch_warnings():  # of how Python 2 wrote them
            warnings.simplefilter("ignore")
            shape, columns_first, kind = read(stream)
    except (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
        raise ArgumentTextError(f"{path} is not a numpy file") from None
    if kind.newbyteorder("<") not in TYPES.values():
        raise ArgumentTextError(f"{path} holds no array of {' '.join(TYPES)}")
    if len(shape) > _DIMENSIONS or (len(data) - stream.tell()) % kind.itemsize:
        raise ArgumentTextError(f"{path} is not a whole numpy file")
    return shape, columns_first, kind, stream.tell()
