"""The generations of the instruction set that are executed.

What differs between them is data: rows of the opcode tables say in which generations they exist,
formats and limits are kept by generation. Invariant: an instruction belongs to one generation, and
nothing that executes it asks for another.
"""

from __future__ import annotations

from enum import IntEnum


class Generation(IntEnum):
    """By the first digit of the processors' names."""

    GFX8 = 8
    """GCN3: gfx803."""
    GFX9 = 9
    """Vega: gfx900."""
