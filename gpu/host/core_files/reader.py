"""A core file, read and checked.

Invariant: every offset, size and count was compared with the file before it was used; any other
bytes are refused with `CoreFileError`, which names the file and what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgpack

from gpu.errors import WaveRegisters
from gpu.host.core_files import layout
from gpu.hsa.struct_layout import Layout
from runtime.files import read_bounded
from slicc.text.lazy_dataclass import dataclass

LARGEST: Final = 1 << 32
_MOST_ENTRIES: Final = 1 << 16
_REGISTER: Final = 256
"""Bytes of a vector register."""
_LONGEST_TEXT: Final = 1 << 16


class CoreFileError(ValueError):
    """A file is no core file that can be read."""


@dataclass(frozen=True, slots=True)
class NamedKernel:
    """``address``: of its first instruction. ``size``: bytes of its code; 0 if not known."""

    name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class CoreFile:
    """``agents``, ``queues``: fields of the driver's entries. ``loads``: address and bytes.
    ``error``, ``tick``, ``kernels``, ``waves`` (of the group
    that has failed): of our own note; empty in a file from elsewhere."""

    kfd_version: tuple[int, int]
    agents: tuple[dict[str, int], ...]
    queues: tuple[dict[str, int], ...]
    loads: tuple[tuple[int, bytes], ...]
    error: str = ""
    tick: int = 0
    kernels: tuple[NamedKernel, ...] = ()
    waves: tuple[WaveRegisters, ...] = ()

    def read(self, address: int, size: int) -> bytes | None:
        """Memory, if one part has all of it."""
        for start, data in self.loads:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        return None

    def where(self, address: int) -> str | None:
        """``kernel+0x14`` for an address in a kernel's code."""
        for kernel in self.kernels:
            if 0 <= address - kernel.address < kernel.size:
                return f"{kernel.name}+{address - kernel.address:#x}"
        return None


def read_core(path: Path) -> CoreFile:
    """Raises CoreFileError, OSError."""
    try:
        return parse_core(read_bounded(path, LARGEST))
    except CoreFileError as error:
        raise CoreFileError(f"{path}: {error}") from None


def parse_core(data: bytes) -> CoreFile:
    """Raises CoreFileError."""
    notes: list[tuple[bytes, int, bytes]] = []
    loads = []
    for kind, offset, address, size in _parts(data):
        if kind == layout.NOTE:
            notes += _notes(_part(data, offset, size, "the notes"))
        elif kind == layout.LOAD:
            loads.append((address, _part(data, offset, size, f"the memory at {address:#x}")))
    snapshot = _content(notes, layout.OWNER, layout.SNAPSHOT)
    if snapshot is None:
        raise CoreFileError("no note of a device's state (NT_AMDGPU_KFD_CORE_STATE)")
    version, agents, queues = _snapshot(snapshot)
    fault = _fault(_content(notes, layout.OUR_OWNER, layout.FAULT))
    return CoreFile(version, agents, queues, tuple(loads), *fault)


def _part(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise CoreFileError(f"{what}, {size} bytes at {offset:#x}: the file has {len(data)}")
    return data[offset : offset + size]


def _parts(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, offset, address and bytes in the file of each part."""
    if data[:4] != b"\x7fELF" or len(data) < layout.HEADER.size:
        raise CoreFileError("not an ELF file")
    fields = layout.HEADER.unpack_from(data)
    identification, kind, machine = fields[:3]
    if identification[4:6] != b"\2\1" or machine != layout.MACHINE:
        raise CoreFileError("not a 64-bit little-endian file for AMDGPU")
    if identification[7] != layout.HSA or kind != layout.CORE:
        raise CoreFileError(f"not a core file for HSA: type {kind}, system {identification[7]}")
    start, size, count = fields[5], fields[9], fields[10]
    if size != layout.PROGRAM_HEADER.size:
        raise CoreFileError(f"program headers of {size} bytes, not {layout.PROGRAM_HEADER.size}")
    table = _part(data, start, size * count, f"the table of {count} parts")
    for part, _, offset, address, _, in_file, _, _ in layout.PROGRAM_HEADER.iter_unpack(table):
        yield part, offset, address, in_file


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    at = 0
    while at + layout.NOTE_HEADER.size <= len(data):
        owner_size, size, kind = layout.NOTE_HEADER.unpack_from(data, at)
        at += layout.NOTE_HEADER.size
        owner = _part(data, at, owner_size, "a note's owner")
        at += owner_size + 3 & ~3
        yield owner, kind, _part(data, at, size, f"a note of type {kind}")
        at += size + 3 & ~3


def _content(notes: list[tuple[bytes, int, bytes]], owner: bytes, kind: int) -> bytes | None:
    return next((data for who, what, data in notes if (who, what) == (owner, kind)), None)


_Entries = tuple[dict[str, int], ...]


def _snapshot(data: bytes) -> tuple[tuple[int, int], _Entries, _Entries]:
    if len(data) < layout.SNAPSHOT_HEADER.size:
        raise CoreFileError(f"a snapshot of {len(data)} bytes has no header")
    major, minor, runtime, agents, agent_size, queues, queue_size = (
        layout.SNAPSHOT_HEADER.unpack_from(data)
    )
    at = layout.SNAPSHOT_HEADER.size
    if runtime % 8:
        raise CoreFileError(f"a runtime's state of {runtime} bytes, no multiple of 8")
    at += runtime
    found = _entries(data, at, agents, agent_size, layout.AGENT)
    at += agents * agent_size
    return (major, minor), found, _entries(data, at, queues, queue_size, layout.QUEUE)


def _entries(data: bytes, at: int, count: int, size: int, entry: Layout) -> _Entries:
    """Entries may be longer than is known here, as later drivers write them."""
    if count > _MOST_ENTRIES or size % 8 or (count and size < entry.size):
        raise CoreFileError(f"{count} entries of {size} bytes; {entry.name} has {entry.size}")
    table = _part(data, at, count * size, f"{count} entries of {size} bytes")
    return tuple(
        entry.unpack(table[place : place + entry.size]) for place in range(0, count * size, size)
    )


_Fault = tuple[str, int, tuple[NamedKernel, ...], tuple[WaveRegisters, ...]]


def _fault(data: bytes | None) -> _Fault:
    if data is None:
        return "", 0, (), ()
    try:
        found: Any = msgpack.unpackb(data, max_str_len=_LONGEST_TEXT)
        kernels = tuple(
            NamedKernel(_text(each["name"]), _number(each["address"]), _number(each["size"]))
            for each in found["kernels"]
        )
        waves = tuple(_wave(*each) for each in found.get("waves", ()))
        return _text(found["error"]), _number(found["tick"]), kernels, waves
    except (ValueError, KeyError, TypeError, msgpack.exceptions.UnpackException) as error:
        raise CoreFileError(
            f"the note of the fault cannot be read ({type(error).__name__})"
        ) from None


def _wave(number: object, pc: object, scalars: list[object], vectors: object) -> WaveRegisters:
    if not isinstance(vectors, bytes) or len(vectors) % _REGISTER:
        raise TypeError
    words = tuple(_number(each) for each in scalars)
    return WaveRegisters(_number(number), _number(pc), words, vectors)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise TypeError
    return value
