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

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.code_object import LocalBytes
from runtime.prng import hash64, mix64_array

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


class ArgumentTextError(ValueError):
    """The text is no argument. The message quotes it."""


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """Memory that a kernel is given the address of; ``shown`` when it has ended."""

    values: Values
    shown: bool


@dataclass(frozen=True, slots=True)
class PlainArgument:
    """Anything that `gpu.code_object.pack_arguments` takes as it is."""

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
        return BufferArgument(_load(body), shown)
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
        start, step = _numbers(numbers, (0, 1), text)
        return (start + step * np.arange(count)).astype(kind)
    if name == "random":
        return _random(kind, count, numbers, text)
    if text.endswith(".npy"):
        values = _load(text).reshape(-1)
        if len(values) != count:
            raise ArgumentTextError(f"{text} has {len(values)} elements, not {count}")
        if values.dtype != kind:
            raise ArgumentTextError(f"{text} holds {values.dtype}, not {kind}")
        return values
    values = _list(kind, text)
    if len(values) not in (1, count):
        raise ArgumentTextError(f"{len(values)} elements are given for {count}")
    return np.resize(values, count)


def _random(kind: np.dtype[Any], count: int, numbers: list[str], text: str) -> Values:
    """From a hash of seed and index: floats of [0, 1) or [low, high), integers of the whole type
    or of [low, high)."""
    if len(numbers) not in (1, 3):
        raise ArgumentTextError(f"{_quoted(text)} is not random:SEED or random:SEED:LOW:HIGH")
    key = hash64(_integer(numbers[0], "a seed"), 1)
    with np.errstate(over="ignore"):
        bits = mix64_array(
            np.arange(1, count + 1, dtype=np.uint64) * _COUNTER_STEP + np.uint64(key)
        )
    if kind.kind == "f":
        low, high = _numbers(numbers[1:], (0, 1), text)
        unit = (bits >> np.uint64(11)).astype(np.float64) / 2.0**53
        return (low + (high - low) * unit).astype(kind)
    if len(numbers) == 1:
        return np.ascontiguousarray(bits.view(np.uint8).reshape(count, 8)[:, : kind.itemsize]).view(
            kind
        )[:, 0]
    low, high = (_integer(number, "a bound") for number in numbers[1:])
    limits = np.iinfo(kind)
    if not limits.min <= low < high <= limits.max + 1:
        raise ArgumentTextError(f"{low} to {high} is no range of {kind}")
    offsets = [int(each) % (high - low) for each in bits] if high - low > 1 << 62 else None
    if offsets is not None:
        return np.array([low + each for each in offsets], kind)
    return (low + (bits % np.uint64(high - low)).astype(object)).astype(kind)


# ------------------------------------------------------------------ small parts


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _type(name: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise ArgumentTextError(f"{_quoted(name)} is no element type: {' '.join(TYPES)}")
    return TYPES[name]


def _shape(text: str) -> tuple[int, tuple[int, ...]]:
    shape = tuple(_integer(part, "a number of elements") for part in re.split("[,x]", text))
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
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ArgumentTextError(f"{_quoted(text)} is not a number") from None


def _list(kind: np.dtype[Any], text: str) -> Values:
    numbers = [_number(part.strip()) for part in text.split(",")]
    if kind.kind != "f":
        limits = np.iinfo(kind)
        for number in numbers:
            if number != int(number) if math.isfinite(number) else True:
                raise ArgumentTextError(f"{number} is not an integer")
            if not limits.min <= number <= limits.max:
                raise ArgumentTextError(f"{number} does not fit {limits.bits} bits")
        return np.array([int(number) for number in numbers], kind)
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float64).astype(kind)


def _load(path: str) -> Values:
    """A numpy file of one of the element types."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise ArgumentTextError(f"{path} is larger than {LARGEST} bytes")
        values = np.load(path, allow_pickle=False)
    except OSError as error:
        raise ArgumentTextError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise ArgumentTextError(f"{path} is not a numpy file: {error}") from None
    if not isinstance(values, np.ndarray) or values.dtype.newbyteorder("<") not in TYPES.values():
        raise ArgumentTextError(f"{path} holds no array of {' '.join(TYPES)}")
    if not values.size:
        raise ArgumentTextError(f"{path} holds no elements")
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
