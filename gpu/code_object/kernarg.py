"""The argument segment of a dispatch: the caller's values, then those that the compiler needs.

Each explicit argument lies where the metadata say. Hidden arguments are filled by their kind, so
that the layouts of version 3/4 and of version 5 need no code of their own.

Source: LLVM "User Guide for AMDGPU Backend", "Kernel Argument Metadata" (V3 to V5).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Final, SupportsIndex

import numpy as np

from gpu.code_object.code_object import Kernel
from gpu.code_object.errors import ArgumentError
from gpu.code_object.metadata import Argument
from slicc.text.lazy_dataclass import dataclass

Size3 = tuple[int, int, int]

_SCALARS: Final[dict[str, type[np.generic]]] = {
    "bool": np.uint8,
    "char": np.int8,
    "signed char": np.int8,
    "uchar": np.uint8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "unsigned int": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "unsigned long": np.uint64,
    "size_t": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}
_FLOATS: Final[dict[int, type[np.floating]]] = {2: np.float16, 4: np.float32, 8: np.float64}
_LOCAL_ALIGNMENT: Final = 16
"""Of every pointer into LDS: some compilers write 1 for all types."""
_POINTERS: Final = frozenset({"global_buffer", "image", "sampler", "pipe", "queue"})


@dataclass(frozen=True, slots=True)
class LocalBytes:
    """For an argument that points into LDS: how many bytes it points at."""

    size: int


@dataclass(frozen=True, slots=True)
class DispatchFacts:
    """The data of a dispatch for hidden arguments.

    ``dimensions``: 1 to 3. Apertures: upper 32 bits of flat addresses that mean LDS or scratch.
    Addresses of buffers are 0 where there is none.
    """

    grid: Size3
    group: Size3
    dimensions: int = 3
    global_offset: Size3 = (0, 0, 0)
    queue: int = 0
    shared_aperture: int = 0
    private_aperture: int = 0
    printf_buffer: int = 0
    hostcall_buffer: int = 0
    heap: int = 0
    default_queue: int = 0
    completion_action: int = 0


@dataclass(frozen=True, slots=True)
class PackedArguments:
    """``data``: the argument segment. ``group_size``: bytes of LDS a group takes, fixed and
    dynamic, for the dispatch packet."""

    data: bytes
    group_size: int


def pack_arguments(
    kernel: Kernel, values: Sequence[object], facts: DispatchFacts
) -> PackedArguments:
    """Lay out a call.

    ``values``, in the order of the source: integers and floats, numpy scalars, sequences for
    vectors, ``bytes`` or arrays of the very size for structures; for buffers an address, None, or
    anything with an ``address``; `LocalBytes` for pointers into LDS. Raises `ArgumentError`.
    """
    explicit = kernel.metadata.explicit
    if len(values) != len(explicit):
        wanted = ", ".join(_called(each, index) for index, each in enumerate(explicit)) or "none"
        raise ArgumentError(
            f"kernel {kernel.name!r} takes {len(explicit)} arguments, {_given(len(values))}; "
            f"it takes: {wanted}"
        )
    data = bytearray(max(kernel.metadata.kernarg_size, kernel.descriptor.kernarg_size))
    group_size = max(kernel.metadata.group_size, kernel.descriptor.group_size)
    static_size = group_size
    for index, (argument, value) in enumerate(zip(explicit, values, strict=True)):
        where = f"kernel {kernel.name!r}, argument {_called(argument, index)}"
        if argument.kind == "dynamic_shared_pointer":
            alignment = max(argument.pointee_align, _LOCAL_ALIGNMENT)
            start = group_size + alignment - 1 & -alignment
            group_size = start + _local_size(value, where)
            encoded = start.to_bytes(argument.size, "little")
        elif argument.kind in _POINTERS:
            encoded = _unsigned(_address(value, where), argument.size, where)
        elif argument.kind == "by_value":
            encoded = _by_value(argument, value, where)
        else:
            raise ArgumentError(f"{where}: kind {argument.kind!r} is not known")
        data[argument.offset : argument.offset + argument.size] = encoded
    for argument in kernel.metadata.arguments:
        if argument.hidden:
            value = _hidden(argument.kind, facts, group_size - static_size)
            mask = (1 << 8 * argument.size) - 1
            data[argument.offset : argument.offset + argument.size] = (value & mask).to_bytes(
                argument.size, "little"
            )
    return PackedArguments(bytes(data), group_size)


def _given(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} given"


def _called(argument: Argument, index: int) -> str:
    kind = argument.type_name or f"{argument.kind} of {argument.size} bytes"
    return f"{index} ({kind}{' ' if argument.name else ''}{argument.name})"


# ------------------------------------------------------------------ explicit values


def _local_size(value: object, where: str) -> int:
    if not isinstance(value, LocalBytes) or not 0 <= value.size <= 1 << 20:
        raise ArgumentError(
            f"{where}: points into LDS; give its size in bytes, not {_kind_of(value)}"
        )
    return value.size


def _address(value: object, where: str) -> int:
    if value is None:
        return 0
    found = getattr(value, "address", value)
    if isinstance(found, SupportsIndex) and not isinstance(found, np.ndarray):
        return operator.index(found)
    raise ArgumentError(f"{where}: is a buffer; {_kind_of(value)} is none")


def _kind_of(value: object) -> str:
    """A short description of a given value."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.size} {value.dtype}"
    if isinstance(value, (bytes, bytearray)):
        return f"a structure of {len(value)} bytes"
    if isinstance(value, LocalBytes):
        return f"{value.size} bytes of LDS"
    if hasattr(value, "address"):
        return "a buffer"
    if value is None:
        return "a null pointer"
    text = str(value) if isinstance(value, np.generic) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unsigned(value: int, size: int, where: str) -> bytes:
    try:
        return value.to_bytes(size, "little")
    except OverflowError:
        raise ArgumentError(f"{where}: {value} does not fit {size} bytes") from None


def _by_value(argument: Argument, value: object, where: str) -> bytes:
    size = argument.size
    if isinstance(value, (bytes, bytearray)):
        if len(value) != size:
            raise ArgumentError(f"{where}: takes {size} bytes, {len(value)} are given")
        return bytes(value)
    kind, lanes = _element(argument)
    if isinstance(value, (np.ndarray, list, tuple)):
        return _several(kind, lanes, size, value, where)
    if lanes != 1:
        raise ArgumentError(f"{where}: takes {lanes} values, {_kind_of(value)} is one")
    return _one(kind, size, value, where)


def _element(argument: Argument) -> tuple[type[np.generic] | None, int]:
    """Element type and count that a type name means; None and 1 for names of the program's own."""
    name = argument.type_name
    base = name.rstrip("0123456789")
    for candidate, lanes in ((name, 1), (base, int(name[len(base) :] or 1) if base else 1)):
        kind = _SCALARS.get(candidate)
        if kind is not None:
            stored = 4 if lanes == 3 else lanes
            if np.dtype(kind).itemsize * stored == argument.size:
                return kind, lanes
    return None, 1


def _several(
    kind: type[np.generic] | None,
    lanes: int,
    size: int,
    value: np.ndarray | Sequence[object],
    where: str,
) -> bytes:
    if kind is None or (isinstance(value, np.ndarray) and value.nbytes == size):
        array = np.asarray(value)
        if array.nbytes != size or array.dtype == object:
            raise ArgumentError(f"{where}: takes {size} bytes, {_kind_of(array)} are given")
        return array.tobytes()
    if len(value) != lanes:
        raise ArgumentError(f"{where}: takes {lanes} values, {len(value)} are given")
    element = np.dtype(kind).itemsize
    return b"".join(_one(kind, element, each, where) for each in value).ljust(size, b"\0")


def _one(kind: type[np.generic] | None, size: int, value: object, where: str) -> bytes:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex) or not isinstance(value, (bool, int, float)):
        raise ArgumentError(f"{where}: takes a number, {_kind_of(value)} is none")
    if kind is None:
        if isinstance(value, float):
            kind = _FLOATS.get(size)
        elif 0 < size <= 8:
            return _integer(int(value), size, where)
        if kind is None:
            raise ArgumentError(f"{where}: takes {size} bytes, give them as bytes or an array")
    if issubclass(kind, np.floating):
        with np.errstate(over="ignore"):
            return np.asarray(value, kind).tobytes()
    if isinstance(value, float):
        if not value.is_integer():
            raise ArgumentError(f"{where}: takes an integer, {value} is none")
        value = int(value)
    return _integer(int(value), size, where)


def _integer(value: int, size: int, where: str) -> bytes:
    """Signed or unsigned: what fits either is taken."""
    if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
        raise ArgumentError(f"{where}: {value} does not fit {size} bytes")
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


# ------------------------------------------------------------------ hidden values


def _hidden(kind: str, facts: DispatchFacts, dynamic_group_size: int) -> int:
    """The value of a hidden argument; 0 for kinds that need nothing, known or not."""
    name, _, axis = kind.removeprefix("hidden_").rpartition("_")
    if axis in ("x", "y", "z"):
        return _by_axis(name, "xyz".index(axis), facts)
    return {
        "hidden_grid_dims": facts.dimensions,
        "hidden_printf_buffer": facts.printf_buffer,
        "hidden_hostcall_buffer": facts.hostcall_buffer,
        "hidden_heap_v1": facts.heap,
        "hidden_default_queue": facts.default_queue,
        "hidden_completion_action": facts.completion_action,
        "hidden_dynamic_lds_size": dynamic_group_size,
        "hidden_private_base": facts.private_aperture,
        "hidden_shared_base": facts.shared_aperture,
        "hidden_queue_ptr": facts.queue,
    }.get(kind, 0)


def _by_axis(name: str, axis: int, facts: DispatchFacts) -> int:
    grid, group = facts.grid[axis], facts.group[axis]
    if name == "block_count":
        return max(1, grid // group) if axis >= facts.dimensions else grid // group
    if name == "group_size":
        return group
    if name == "remainder":
        return grid % group
    return facts.global_offset[axis] if name == "global_offset" else 0
