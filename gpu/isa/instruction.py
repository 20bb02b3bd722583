"""A decoded instruction, and the row of a table that gave it its name.

Invariant: an instruction is a value: its bytes, where its fields are and what they name. What it
does is bound once, by `gpu.isa.execution.binder`, when its address is first executed.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Final, NamedTuple

from gpu.generation import Generation
from slicc.text.lazy_dataclass import dataclass

EVERY_GENERATION: Final = frozenset(Generation)


class Unit(Enum):
    """Which part of a compute unit executes an instruction; waves compete for them."""

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


class OperandAccess(Enum):
    """How an instruction uses an operand."""

    READ = "read"
    WRITE = "write"
    BOTH = "read and write"


@dataclass(frozen=True, slots=True)
class OperandRow:
    """One operand of an opcode: the field that names it, its type, what is done with it.

    ``type``: a name in `gpu.isa.operand_types.TYPES`. ``kind``: ``v`` if only a vector register
    can be there, ``s`` if none can, ``r`` if no constant can, else empty.
    """

    field: str
    type: str
    access: OperandAccess = OperandAccess.READ
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of a table. ``name`` is the base mnemonic.

    ``tier``: 1 is executed, 3 is decoded and printed and stops when executed, 4 likewise and is
    graphics. ``reads`` and ``writes``: registers that no field names (``scc vcc exec m0``).
    ``flags``: exceptions from the rules of its format, see `gpu.isa.tables.rows`. ``meaning``: the
    mnemonic that its semantics are listed under, if another: generations use one name for two
    operations, and two names for one. ``generations``: those that have the row.
    """

    name: str
    format: str
    number: int
    unit: Unit
    operands: tuple[OperandRow, ...] = ()
    tier: int = 1
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    meaning: str = ""
    generations: frozenset[Generation] = EVERY_GENERATION

    def __post_init__(self) -> None:
        if not self.meaning:
            object.__setattr__(self, "meaning", self.name)

    @property
    def key(self) -> tuple[str, int, str]:
        """A key that is unique among all rows of all tables."""
        return self.format, self.number, self.name

    def operand(self, field: str) -> OperandRow | None:
        """The operand that this field names."""
        return next((operand for operand in self.operands if operand.field == field), None)


class RegisterRange(NamedTuple):
    """``size`` registers from ``first``. ``file``: ``s`` (operand codes 0-127), ``v`` or
    ``scc``."""

    file: str
    first: int
    size: int


@dataclass(slots=True, eq=False)
class Instruction:
    """One instruction at one address.

    ``form`` is the encoding it came in: the name of a format, ``SDWA`` or ``DPP``. ``fields`` are
    its bit fields by name, the same names in every form: ``src0 src1 src2`` of vector
    instructions are nine-bit operand codes (256 is v0), ``sdst`` and ``src2`` of those that use
    VCC without saying so are VCC, a 32-bit constant behind it is ``literal``. ``reads`` and
    ``writes`` say which registers it uses, implicit ones (VCC, EXEC, SCC, M0) included.
    ``indexed``: it is reached in GPR-index mode, where M0 changes which vector registers it uses.
    """

    address: int
    size: int
    opcode: Opcode
    form: str
    fields: dict[str, int]
    reads: tuple[RegisterRange, ...] = field(default=())
    writes: tuple[RegisterRange, ...] = field(default=())
    generation: Generation = Generation.GFX8
    indexed: bool = False

    @property
    def name(self) -> str:
        """The base mnemonic, without ``_e32``, ``_e64``, ``_sdwa`` or ``_dpp``."""
        return self.opcode.name

    @property
    def unit(self) -> Unit:
        return self.opcode.unit

    @property
    def end(self) -> int:
        """Address of the next instruction."""
        return self.address + self.size

    @property
    def target(self) -> int | None:
        """The target of a branch that has it in its own bits."""
        if "scalar_target" not in self.opcode.flags:
            return None
        words = self.fields["simm16"]
        return self.end + 4 * (words - (words >> 15 << 16))
