"""Machine code with labels, for kernels that are written by instruction.

Invariant: a branch reaches its label, which may stand before it or behind it.
"""

from __future__ import annotations

from typing import Final

from gpu.generation import Generation
from gpu.isa.encoding.encoder import encode
from gpu.isa.encoding.formats import SRC_LITERAL
from gpu.isa.encoding.immediates import ANY_COUNT, joined_wait
from gpu.isa.encoding.operands import EXEC

EVERYTHING: Final = ("vmcnt", "lgkmcnt")
"""The counters of memory; expcnt is that of exports."""
_INLINE: Final = range(65)
_FIRST_INLINE: Final = 128


class Code:
    """The code of a kernel, as it grows."""

    def __init__(self, generation: Generation = Generation.GFX8) -> None:
        self._generation = generation
        self._bytes = bytearray()
        self._labels: dict[str, int] = {}
        self._branches: list[tuple[int, str]] = []

    def emit(self, format: str, name: str, literal: int | None = None, **fields: int) -> None:
        """The next instruction, see `gpu.isa.encoding.encoder.encode`."""
        self._bytes += encode(format, name, literal, self._generation, **fields)

    def scalar(self, register: int, value: int) -> None:
        """A constant into a scalar register."""
        source, literal = _constant(value)
        self.emit("SOP1", "s_mov_b32", literal, sdst=register, ssrc0=source)

    def vector(self, register: int, value: int) -> None:
        """A constant into a vector register, of the active lanes."""
        source, literal = _constant(value)
        self.emit("VOP1", "v_mov_b32", literal, vdst=register, src0=source)

    def wait(self, counters: tuple[str, ...]) -> None:
        """Until the counters are 0."""
        zeros = {name.removesuffix("cnt"): 0 for name in counters}
        counts = ANY_COUNT[self._generation]._replace(**zeros)
        self.emit("SOPP", "s_waitcnt", simm16=joined_wait(counts))

    def activate(self, lanes: int) -> None:
        """Make these the active lanes, a bit each; as long for all masks."""
        for half in range(2):
            part = lanes >> 32 * half & 0xFFFF_FFFF
            self.emit("SOP1", "s_mov_b32", part, sdst=EXEC + half, ssrc0=SRC_LITERAL)

    def label(self, name: str) -> None:
        """The next instruction is called so."""
        self._labels[name] = len(self._bytes)

    def branch(self, name: str, label: str) -> None:
        """``s_branch`` or ``s_cbranch_..`` to a label."""
        self._branches.append((len(self._bytes), label))
        self.emit("SOPP", name)

    def finished(self) -> bytes:
        """The code, with the distances of its branches."""
        made = bytearray(self._bytes)
        for place, label in self._branches:
            words = (self._labels[label] - place - 4) // 4
            made[place : place + 2] = (words & 0xFFFF).to_bytes(2, "little")
        return bytes(made)


def _constant(value: int) -> tuple[int, int | None]:
    value &= 0xFFFF_FFFF
    return (_FIRST_INLINE + value, None) if value in _INLINE else (SRC_LITERAL, value)
