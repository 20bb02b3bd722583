"""Types of operands: how many registers a value takes and how its bits are read.

Invariant: a type is a name in `TYPES`; tables, decoder, printer and binding use only these.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

_Scalar = type[np.generic]


class OperandType(NamedTuple):
    """``registers``: 32-bit registers it takes. ``bits``: of the value. ``dtype``: of one lane's
    value, or None where no arithmetic is done on it."""

    name: str
    registers: int
    bits: int
    dtype: _Scalar | None = None

    @property
    def floating(self) -> bool:
        return self.name[0] == "f"

    @property
    def signed(self) -> bool:
        return self.name[0] == "i"


def _types() -> dict[str, OperandType]:
    unsigned: dict[int, _Scalar] = {16: np.uint16, 32: np.uint32, 64: np.uint64}
    signed: dict[int, _Scalar] = {16: np.int16, 32: np.int32, 64: np.int64}
    floating: dict[int, _Scalar] = {16: np.float16, 32: np.float32, 64: np.float64}
    types = {}
    for letter, dtypes in (("b", unsigned), ("u", unsigned), ("i", signed), ("f", floating)):
        for bits, dtype in dtypes.items():
            name = f"{letter}{bits}"
            types[name] = OperandType(name, max(bits // 32, 1), bits, dtype)
    for bits in (96, 128, 256, 512):
        types[f"b{bits}"] = OperandType(f"b{bits}", bits // 32, bits)
    for letter in "buif":
        types[f"{letter}16x2"] = OperandType(f"{letter}16x2", 1, 32)
    types["mask"] = OperandType("mask", 2, 64)
    types["imm"] = OperandType("imm", 0, 32)
    return types


TYPES: Final = _types()
"""``b`` bits, ``u`` unsigned, ``i`` signed, ``f`` floating point, of 16 to 512 bits; ``x2``: two
in one register; ``mask``: a bit a lane in two SGPRs; ``imm``: a number in the instruction
itself."""
