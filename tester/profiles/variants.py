"""Which variants of its system a leg draws.

A description names parts of the system that can be built in several ways (`[[variant]]`). Most legs
have one or two variants: with all of them at once, a fault of one would hide those of the others.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from runtime.description import SystemDescription, VariantDescription
from runtime.prng import Prng

_PARTS: Final = (0, 1, 1, 2, 2, 64)
"""Parts, at most, of which a leg draws a variant."""


def draw(description: SystemDescription, prng: Prng) -> list[VariantDescription]:
    """For some parts one of their variants; the others are as they are described."""
    by_part: dict[str, list[VariantDescription]] = {}
    for variant in description.variants:
        by_part.setdefault(variant.of, []).append(variant)
    drawn = [
        (order, found[number - 1])
        for part, found in by_part.items()
        for order, number in [_of_part(prng.fork(f"variant of {part}"), len(found))]
        if number
    ]
    most = _PARTS[prng.fork("parts in variants").below(len(_PARTS))]
    return [variant for _, variant in sorted(drawn, key=itemgetter(0))[:most]]


def _of_part(prng: Prng, variants: int) -> tuple[int, int]:
    """Its place among the parts, and which of its variants, counted from 1; 0: none."""
    return prng.below(1 << 32), prng.below(variants + 1)
