"""SDMA commands: layouts of those that are carried out, names of the others.

Invariant: layouts are those of GFX8 and GFX9, which differ in what a count means alone.

Source: the public headers ``vega10_sdma_pkt_open.h`` and ``vi_enum.h`` of the Linux driver.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gpu.errors import QueueError
from gpu.packet_processor.commands.command_layout import DWORD, Bits, CommandLayout
from runtime.types.atomic_op import AtomicKind


class Opcode(IntEnum):
    """Commands that are carried out."""

    NOP = 0
    COPY = 1
    FENCE = 5
    TRAP = 6
    POLL = 8
    ATOMIC = 10
    CONST_FILL = 11


OTHER_COMMANDS: Final = {
    2: "WRITE",
    4: "INDIRECT",
    7: "SEM",
    9: "COND_EXE",
    12: "PTEPDE",
    13: "TIMESTAMP",
    14: "SRBM_WRITE",
    15: "PRE_EXE",
    16: "DUMMY_TRAP",
}
"""Names of commands that are refused."""

_OPERATIONS: Final = {
    0x07: ("swap", AtomicKind.EXCHANGE),
    0x08: ("compare and swap", AtomicKind.CAS),
    0x0F: ("add", AtomicKind.ADD),
    0x10: ("subtract", AtomicKind.SUB),
    0x11: ("signed minimum", AtomicKind.MIN),
    0x12: ("unsigned minimum", AtomicKind.UMIN),
    0x13: ("signed maximum", AtomicKind.MAX),
    0x14: ("unsigned maximum", AtomicKind.UMAX),
    0x15: ("and", AtomicKind.AND),
    0x16: ("or", AtomicKind.OR),
    0x17: ("xor", AtomicKind.XOR),
    0x18: ("increment", AtomicKind.INC),
    0x19: ("decrement", AtomicKind.DEC),
}
WIDE: Final = 0x20
"""Operations of 64 bits have this bit, those that return nothing `SILENT`."""
SILENT: Final = 0x40
_VARIED: Final = {
    number | variant: operation
    for variant in (0, WIDE, SILENT, WIDE | SILENT)
    for number, operation in _OPERATIONS.items()
}
OPERATIONS: Final = {number: kind for number, (_, kind) in _VARIED.items()}
"""By the number in a command."""
_NAMES: Final = {number: name for number, (name, _) in _VARIED.items()}
_HEADER: Final = 0xFFFF
FILL_BYTES: Final = {0: 1, 1: 2, 2: 4}

LAYOUTS: Final = {
    Opcode.NOP: CommandLayout("NOP", 1, (Bits("count", 0, 16, 14),), _HEADER, data=True),
    Opcode.COPY: CommandLayout(
        "COPY",
        7,
        (
            Bits("count", 1, 0, 22),
            Bits("destination_swap", 2, 16, 2, {0: "none"}),
            Bits("source_swap", 2, 24, 2, {0: "none"}),
            Bits("source", 3, 0, 64),
            Bits("destination", 5, 0, 64),
        ),
        _HEADER,
    ),
    Opcode.FENCE: CommandLayout(
        "FENCE", 4, (Bits("address", 1, 0, 64, multiple=4), Bits("data", 3)), _HEADER
    ),
    Opcode.TRAP: CommandLayout("TRAP", 2, (Bits("context", 1, 0, 28),), _HEADER),
    Opcode.POLL: CommandLayout(
        "POLL_REGMEM",
        6,
        (
            Bits("flush", 0, 26, 1, {0: "none"}),
            Bits("function", 0, 28, 3),
            Bits("space", 0, 31, 1, {1: "memory"}),
            Bits("address", 1, 0, 64, multiple=4),
            Bits("reference", 3),
            Bits("mask", 4),
            Bits("interval", 5, 0, 16),
            Bits("retries", 5, 16, 12),
        ),
        _HEADER,
    ),
    Opcode.ATOMIC: CommandLayout(
        "ATOMIC",
        8,
        (
            Bits("loop", 0, 16, 1),
            Bits("operation", 0, 25, 7, _NAMES),
            Bits("address", 1, 0, 64, multiple=4),
            Bits("operand", 3, 0, 64),
            Bits("compare", 5, 0, 64),
            Bits("interval", 7, 0, 13),
        ),
        _HEADER,
    ),
    Opcode.CONST_FILL: CommandLayout(
        "CONST_FILL",
        5,
        (
            Bits("size", 0, 30, 2, {0: "bytes", 1: "words", 2: "dwords"}),
            Bits("destination", 1, 0, 64),
            Bits("data", 3),
            Bits("count", 4, 0, 22),
        ),
        _HEADER,
    ),
}
NO_LIMIT: Final = 0xFFF
"""Retries of a poll that never gives up."""


def length_of(header: int) -> int:
    """Dwords of a command. Raises QueueError for one that is not carried out."""
    opcode, variant = header & 0xFF, header >> 8 & 0xFF
    if opcode not in LAYOUTS:
        name = OTHER_COMMANDS.get(opcode)
        rule = "an SDMA command is one that is carried out here"
        raise QueueError(rule, name or f"{opcode:#04x}")
    layout = LAYOUTS[Opcode(opcode)]
    if variant:
        raise QueueError(f"{layout.name}: the variant that is carried out here is 0", variant)
    if opcode == Opcode.NOP:
        return 1 + (header >> 16 & 0x3FFF)
    return layout.words


def pack(opcode: Opcode, tail: bytes = b"", **values: int) -> bytes:
    """A command, as a program writes it."""
    if opcode is Opcode.NOP:
        values["count"] = len(tail) // DWORD
    return LAYOUTS[opcode].pack(opcode, values, tail)
