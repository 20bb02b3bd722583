"""PM4 commands of compute queues: layouts of those that are carried out, names of the others.

Invariant: layouts are those of GFX8 and GFX9; where these differ, both are accepted.

Source: the public headers ``vid.h`` and ``soc15d.h`` of the Linux driver.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

from gpu.errors import QueueError
from gpu.packet_processor.commands.command_layout import DWORD, Bits, CommandLayout

TYPE_2, TYPE_3 = 2, 3
ONE_DWORD_NOP: Final = 0x3FFF
"""A NOP's count that means no dword behind the header."""


class Opcode(IntEnum):
    """Commands that are carried out."""

    NOP = 0x10
    WRITE_DATA = 0x37
    WAIT_REG_MEM = 0x3C
    INDIRECT_BUFFER = 0x3F
    COPY_DATA = 0x40
    RELEASE_MEM = 0x49
    ACQUIRE_MEM = 0x58


class Caches(IntFlag):
    """What ACQUIRE_MEM invalidates or writes back."""

    VECTOR_VOLATILE = 1 << 15
    SHARED_VOLATILE = 1 << 16
    SHARED_WRITE_BACK = 1 << 18
    VECTOR = 1 << 22
    SHARED = 1 << 23
    SCALAR = 1 << 27
    SCALAR_VOLATILE = 1 << 28
    CODE = 1 << 29


CACHES: Final = {name.lower(): each for name, each in Caches.__members__.items()}
"""By the names of ACQUIRE_MEM's fields."""

OTHER_COMMANDS: Final = {
    0x11: "SET_BASE",
    0x12: "CLEAR_STATE",
    0x15: "DISPATCH_DIRECT",
    0x16: "DISPATCH_INDIRECT",
    0x1D: "ATOMIC_GDS",
    0x1E: "ATOMIC_MEM",
    0x1F: "OCCLUSION_QUERY",
    0x20: "SET_PREDICATION",
    0x21: "REG_RMW",
    0x22: "COND_EXEC",
    0x23: "PRED_EXEC",
    0x24: "DRAW_INDIRECT",
    0x25: "DRAW_INDEX_INDIRECT",
    0x27: "DRAW_INDEX_2",
    0x28: "CONTEXT_CONTROL",
    0x2D: "DRAW_INDEX_AUTO",
    0x33: "INDIRECT_BUFFER_CONST",
    0x39: "MEM_SEMAPHORE",
    0x42: "PFP_SYNC_ME",
    0x43: "SURFACE_SYNC",
    0x45: "COND_WRITE",
    0x46: "EVENT_WRITE",
    0x47: "EVENT_WRITE_EOP",
    0x48: "EVENT_WRITE_EOS",
    0x4A: "PREAMBLE_CNTL",
    0x50: "DMA_DATA",
    0x59: "REWIND",
    0x5E: "LOAD_UCONFIG_REG",
    0x5F: "LOAD_SH_REG",
    0x60: "LOAD_CONFIG_REG",
    0x61: "LOAD_CONTEXT_REG",
    0x68: "SET_CONFIG_REG",
    0x69: "SET_CONTEXT_REG",
    0x76: "SET_SH_REG",
    0x77: "SET_SH_REG_OFFSET",
    0x78: "SET_QUEUE_REG",
    0x79: "SET_UCONFIG_REG",
    0x8B: "SWITCH_BUFFER",
    0x90: "FRAME_CONTROL",
    0xA0: "SET_RESOURCES",
    0xA2: "MAP_QUEUES",
    0xA3: "UNMAP_QUEUES",
    0xA4: "QUERY_STATUS",
}
"""Names of commands that are refused."""

_HEADER: Final = 0xFFFF_FF00 | 1 << 1
"""Type, count, opcode; and that it is for compute, which is ignored."""
_MEMORY: Final = {1: "memory", 2: "shared cache", 5: "memory"}
_ZERO: Final = {0: "none"}


def _flag(name: str, word: int, low: int) -> Bits:
    return Bits(name, word, low, 1)


LAYOUTS: Final = {
    Opcode.NOP: CommandLayout("NOP", 1, (), _HEADER, data=True),
    Opcode.WRITE_DATA: CommandLayout(
        "WRITE_DATA",
        4,
        (
            Bits("destination", 1, 8, 4, _MEMORY),
            _flag("one_address", 1, 16),
            _flag("confirm", 1, 20),
            Bits("policy", 1, 25, 2),
            Bits("engine", 1, 30, 2, {0: "ME"}),
            Bits("address", 2, 0, 64, multiple=4),
        ),
        _HEADER,
        data=True,
    ),
    Opcode.WAIT_REG_MEM: CommandLayout(
        "WAIT_REG_MEM",
        7,
        (
            Bits("function", 1, 0, 3),
            Bits("space", 1, 4, 2, {1: "memory"}),
            Bits("operation", 1, 6, 2, {0: "wait", 3: "wait, may be preempted"}),
            Bits("engine", 1, 8, 2, {0: "ME"}),
            Bits("policy", 1, 25, 2),
            Bits("address", 2, 0, 64, multiple=4),
            Bits("reference", 4),
            Bits("mask", 5),
            Bits("interval", 6, 0, 16),
            _flag("offload", 6, 31),
        ),
        _HEADER,
    ),
    Opcode.INDIRECT_BUFFER: CommandLayout(
        "INDIRECT_BUFFER",
        4,
        (
            Bits("address", 1, 0, 64, multiple=4),
            Bits("size", 3, 0, 20),
            _flag("chain", 3, 20),
            _flag("offload", 3, 21),
            _flag("valid", 3, 23),
            Bits("vmid", 3, 24, 4, _ZERO),
            Bits("policy", 3, 28, 2),
        ),
        _HEADER,
    ),
    Opcode.COPY_DATA: CommandLayout(
        "COPY_DATA",
        6,
        (
            Bits("source", 1, 0, 4, {1: "memory", 2: "shared cache", 5: "immediate", 9: "clock"}),
            Bits("destination", 1, 8, 4, _MEMORY),
            Bits("source_policy", 1, 13, 2),
            _flag("wide", 1, 16),
            _flag("confirm", 1, 20),
            Bits("policy", 1, 25, 2),
            Bits("engine", 1, 30, 2, {0: "ME"}),
            Bits("from", 2, 0, 64),
            Bits("address", 4, 0, 64, multiple=4),
        ),
        _HEADER,
    ),
    Opcode.RELEASE_MEM: CommandLayout(
        "RELEASE_MEM",
        7,
        (
            Bits(
                "event",
                1,
                0,
                6,
                {
                    0x04: "caches flushed",
                    0x14: "caches flushed and invalidated",
                    0x28: "bottom of pipe",
                    0x2F: "compute done",
                },
            ),
            Bits("index", 1, 8, 4, {5: "end of pipe", 6: "end of shader"}),
            _flag("vector_volatile", 1, 12),
            _flag("shared_volatile", 1, 13),
            _flag("write_back", 1, 15),
            _flag("vector", 1, 16),
            _flag("shared", 1, 17),
            _flag("non_coherent", 1, 19),
            _flag("metadata", 1, 21),
            Bits("policy", 1, 25, 2),
            Bits("destination", 2, 16, 2, {0: "memory", 1: "shared cache"}),
            Bits(
                "interrupt",
                2,
                24,
                3,
                {0: "none", 1: "at once", 2: "when written", 3: "none, write confirmed"},
            ),
            Bits("data", 2, 29, 3, {0: "none", 1: "32 bits", 2: "64 bits", 3: "clock"}),
            Bits("address", 3, 0, 64, multiple=4),
            Bits("value", 5, 0, 64),
            Bits("context", 7),
        ),
        _HEADER,
        optional=1,
    ),
    Opcode.ACQUIRE_MEM: CommandLayout(
        "ACQUIRE_MEM",
        7,
        (
            *(_flag(name, 1, each.bit_length() - 1) for name, each in CACHES.items()),
            Bits("size", 2, 0, 40),
            Bits("base", 4, 0, 40),
            Bits("interval", 6, 0, 16),
        ),
        _HEADER,
    ),
}


def type_of(header: int) -> int:
    """The two top bits."""
    return header >> 30


def length_of(header: int) -> int:
    """Dwords of a command. Raises QueueError for one that is not carried out."""
    kind = type_of(header)
    if kind == TYPE_2:
        return 1
    if kind != TYPE_3:
        raise QueueError("a PM4 command is of type 2 or 3", kind)
    opcode, count = header >> 8 & 0xFF, header >> 16 & 0x3FFF
    if opcode not in LAYOUTS:
        name = OTHER_COMMANDS.get(opcode)
        raise QueueError("a PM4 command is one that is carried out here", name or f"{opcode:#04x}")
    if opcode == Opcode.NOP and count == ONE_DWORD_NOP:
        return 1
    LAYOUTS[Opcode(opcode)].check_length(count + 2)
    return count + 2


def pack(opcode: Opcode, tail: bytes = b"", **values: int) -> bytes:
    """A command, as a program writes it."""
    command = LAYOUTS[opcode].pack(opcode << 8, values, tail)
    count = len(command) // DWORD - 2 & 0x3FFF
    header = int.from_bytes(command[:DWORD], "little") | TYPE_3 << 30 | count << 16
    return header.to_bytes(DWORD, "little") + command[DWORD:]
