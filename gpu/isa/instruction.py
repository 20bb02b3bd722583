"""A decoded instruction, and the row of a table that gave it its name.

Invariant: an instruction is a value: its bytes, where its fields are and what they name. What it
does is bound once, by `gpu.isa.binding`, when its address is first executed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Unit(Enum):
    """Which part of a compute unit carries an instruction out; waves compete for them."""

    VECTOR_ALU = "vector ALU"
    SCALAR_ALU = "scalar ALU"
    SCALAR_MEMORY = "scalar memory"
    VECTOR_MEMORY = "vector memory"
    LDS = "LDS"
    BRANCH = "branch"
    MESSAGE = "message"
    INTERNAL = "internal"
    """Handled at issue and free: s_nop, s_waitcnt, s_barrier, s_sleep, s_setprio, s_endpgm ..."""
    EXPORT = "export"


class Access(Enum):
    """What an instruction does with an operand."""

    READ = "read"
    WRITE = "write"
    BOTH = "read and write"


@dataclass(frozen=True, slots=True)
class OperandRow:
    """One operand of an opcode: the field that names it, its type, what is done with it.

    ``type``: ``b32 u32 i32 f32 b64 u64 i64 f64 b16 u16 i16 f16`` for data, ``mask`` for 64 lane
    bits in a pair of SGPRs, ``b96 b128 b256 b512`` for data of memory, ``imm`` for numbers.
    """

    field: str
    type: str
    access: Access = Access.READ


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of a table. ``name`` is the base mnemonic; ``tier`` after the plan of support:
    1 and 2 execute, 3 decodes and stops with its text, 4 is graphics."""

    name: str
    format: str
    number: int
    unit: Unit
    operands: tuple[OperandRow, ...] = ()
    tier: int = 1


class RegisterRange(NamedTuple):
    """``size`` registers from ``first``. ``file``: ``s`` (operand codes 0-127), ``v`` or
    ``scc``."""

    file: str
    first: int
    size: int


@dataclass(slots=True, eq=False)
class Instruction:
    """One instruction at one address.

    ``form`` is the encoding it came in (``VOP2``, ``VOP3``, ``SDWA``, ``DPP`` ...); ``fields`` its
    bit fields by name, a 32-bit literal as ``literal``. ``reads`` and ``writes`` say which
    registers it uses, implicit ones (VCC, EXEC, SCC, M0) included.
    """

    address: int
    size: int
    opcode: Opcode
    form: str
    fields: dict[str, int]
    reads: tuple[RegisterRange, ...] = field(default=())
    writes: tuple[RegisterRange, ...] = field(default=())

    @property
    def name(self) -> str:
        return self.opcode.name
