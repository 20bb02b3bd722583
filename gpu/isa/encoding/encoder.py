"""Fields to the words of an instruction: the inverse of `gpu.isa.encoding.decoder`.

Invariant: what `encode` returns is decoded to the same opcode and fields.
"""

from __future__ import annotations

from functools import cache

from gpu.generation import Generation
from gpu.isa.encoding.formats import BY_NAME
from gpu.isa.tables import OPCODES


@cache
def _numbers(generation: Generation, format: str) -> dict[str, int]:
    return {opcode.name: number for number, opcode in OPCODES[generation][format].items()}


def encode(
    format: str,
    name: str,
    literal: int | None = None,
    generation: Generation = Generation.GFX8,
    /,
    **fields: int,
) -> bytes:
    """An instruction of this format; fields that are not given are 0. ``literal``: a word behind
    it. Raises KeyError for an unknown name or field, ValueError for a value that does not fit."""
    layout = BY_NAME[generation][format]
    bits = layout.fixed | _numbers(generation, format)[name] << layout.opcode.low
    for field, value in fields.items():
        place = layout.fields[field]
        if not 0 <= value < 1 << place.bits:
            raise ValueError(f"{name}: {field} has {place.bits} bits; {value} does not fit")
        bits |= value << place.low
    words = bits.to_bytes(4 * layout.words, "little")
    return words if literal is None else words + (literal & 0xFFFF_FFFF).to_bytes(4, "little")
