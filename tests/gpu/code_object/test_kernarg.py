"""Argument segments byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from gpu.code_object import Argument, ArgumentError, DispatchFacts, LocalBytes, pack_arguments
from tests.gpu.kernels.stored import stored

FACTS = DispatchFacts(
    grid=(1000, 6, 1),
    group=(64, 4, 1),
    dimensions=2,
    global_offset=(5, 6, 7),
    queue=0x1_2345_6780,
    shared_aperture=0x0001_0000,
    private_aperture=0x0002_0000,
    printf_buffer=0x7000,
)
RECORD = struct.pack("<i4xdb7x", 7, 8.0, 9)
CALL = [-1, 65535, 1.5, 2.5, (1, 2, 3, 4), [5, 6, 7], RECORD, LocalBytes(12), 0x9000, LocalBytes(8)]


@dataclass
class Place:
    """A buffer, as far as arguments are concerned."""

    address: int


@pytest.mark.parametrize("configuration", ["clang14-O2", "clang14-O2-v2", "clang19-O2"])
def test_every_kind(configuration: str) -> None:
    kernel = stored("pointers", configuration)["arguments"]
    packed = pack_arguments(kernel, CALL, FACTS)
    offsets = [each.offset for each in kernel.metadata.explicit]
    assert offsets[:7] == [0, 2, 4, 8, 16, 32, 48]
    assert packed.data[:72] == (
        struct.pack("<bxHfd4f3i4x", -1, 65535, 1.5, 2.5, 1, 2, 3, 4, 5, 6, 7) + RECORD
    )
    first, buffer, second = (
        int.from_bytes(packed.data[each.offset :][: each.size], "little")
        for each in kernel.metadata.explicit[7:]
    )
    assert (first, buffer, second, packed.group_size) == (0, 0x9000, 16, 24)
    assert len(packed.data) == kernel.metadata.kernarg_size


def test_hidden_arguments_of_version_5() -> None:
    """Offsets of the specification's table, from the first multiple of 8 behind the explicit."""
    kernel = stored("flatgen", "clang19-O2")["gen3"]
    packed = pack_arguments(kernel, [1, 2, 3], FACTS)
    hidden = packed.data[24:]
    assert struct.unpack_from("<III", hidden) == (15, 1, 1)
    assert struct.unpack_from("<6H", hidden, 12) == (64, 4, 1, 1000 % 64, 2, 0)
    assert struct.unpack_from("<3Q", hidden, 40) == (5, 6, 7)
    assert struct.unpack_from("<H", hidden, 64) == (2,)
    assert struct.unpack_from("<II", hidden, 192) == (0x0002_0000, 0x0001_0000)


def test_hidden_arguments_of_version_3() -> None:
    """Global offsets and the printf buffer, where version 3 and 4 have them."""
    kernel = stored("flatgen", "clang14-O2-v3")["gen3"]
    hidden = ("global_offset_x", "global_offset_y", "global_offset_z", "printf_buffer", "none")
    arguments = [
        *kernel.metadata.explicit,
        *(Argument("", "", f"hidden_{kind}", 24 + 8 * i, 8) for i, kind in enumerate(hidden)),
    ]
    metadata = replace(kernel.metadata, arguments=tuple(arguments), kernarg_size=64)
    packed = pack_arguments(replace(kernel, metadata=metadata), [1, 2, 3], FACTS)
    assert struct.unpack_from("<5Q", packed.data, 24) == (5, 6, 7, 0x7000, 0)


class Buffer:
    address = 0x1234


@pytest.mark.parametrize("value", [0x1234, np.uint64(0x1234), Buffer()])
def test_buffers(value: object) -> None:
    packed = pack_arguments(stored("vadd")["vadd"], [value, None, 0, 7], FACTS)
    assert packed.data == struct.pack("<QQQI", 0x1234, 0, 0, 7).ljust(len(packed.data), b"\0")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], r"'vadd' takes 4 arguments, 3 are given; it takes: 0 \(float\* a\), 1"),
        ([1, 2, 3, 1 << 32], r"argument 3 \(uint n\): 4294967296 does not fit 4 bytes"),
        ([1, 2, 3, 1.5], r"argument 3 \(uint n\): takes an integer, 1.5 is none"),
        ([1, 2, 3, "x"], r"argument 3 \(uint n\): takes a number, 'x' is none"),
        ([1, 2, 3, b"ab"], r"argument 3 \(uint n\): takes 4 bytes, 2 are given"),
        ([1, 2, 3, [1, 2]], r"argument 3 \(uint n\): takes 1 values, 2 are given"),
        ([1.5, 2, 3, 4], r"argument 0 \(float\* a\): is a buffer; 1.5 is none"),
        ([np.float32(1.5), 2, 3, 4], r"argument 0 \(float\* a\): is a buffer; 1.5 is none"),
        ([bytes(9999), 2, 3, 4], r"argument 0 .*: is a buffer; a structure of 9999 bytes is none"),
        ([LocalBytes(64), 2, 3, 4], r"argument 0 .*: is a buffer; 64 bytes of LDS is none"),
        ([1, 2, 3, Place(16)], r"argument 3 \(uint n\): takes a number, a buffer is none"),
        ([1, 2, 3, None], r"argument 3 \(uint n\): takes a number, a null pointer is none"),
        ([np.zeros(4), 2, 3, 4], r"argument 0 \(float\* a\): is a buffer; an array of 4 float64"),
        ([-1, 2, 3, 4], r"argument 0 \(float\* a\): -1 does not fit 8 bytes"),
    ],
)
def test_wrong_values(values: Sequence[object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pack_arguments(stored("vadd")["vadd"], values, FACTS)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (4, 1.0, "takes 4 values, 1.0 is one"),
        (4, [1, 2, 3], "takes 4 values, 3 are given"),
        (6, [1, 2], r"takes 24 bytes, an array of 2 int64 are given"),
        (6, 1, "takes 24 bytes, give them as bytes or an array"),
        (7, 12, "points into LDS; give its size in bytes, not 12"),
    ],
)
def test_wrong_values_of_every_kind(index: int, value: object, message: str) -> None:
    values: list[object] = list(CALL)
    values[index] = value
    with pytest.raises(ArgumentError, match=message):
        pack_arguments(stored("pointers")["arguments"], values, FACTS)
