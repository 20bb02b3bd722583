"""Scalar operands of memory instructions, and base addresses from scalar registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpu.isa.encoding.constants import constant
from gpu.isa.operand_types import TYPES
from gpu.isa.wave_registers import Wave

ReadScalar = Callable[[Wave], int]

_CONDITIONS: Final[dict[int, ReadScalar]] = {
    251: lambda wave: int(not (wave.sgprs[106] or wave.sgprs[107])),
    252: lambda wave: int(not wave.exec),
    253: lambda wave: wave.scc,
}
"""VCCZ, EXECZ and SCC."""


def scalar_source(code: int) -> ReadScalar:
    """The 32-bit value that an operand code names: a register, or a number in the code itself."""
    if code < 128:
        return lambda wave: wave.sgprs[code]
    number = constant(code, TYPES["b32"])
    if number is not None:
        return lambda wave: number
    return _CONDITIONS[code]


def read_pair(wave: Wave, first: int) -> int:
    """64 bits from two scalar registers."""
    return wave.sgprs[first] | wave.sgprs[first + 1] << 32
