"""Which variants of its system a leg draws.

A description names parts of the system that can be built in several ways (`[[variant]]`).
Invariant: a part is drawn from a fork named after it, so that one more variant of another part
changes nothing.
"""

from __future__ import annotations

from runtime.description import SystemDescription, VariantDescription
from runtime.prng import Prng


def draw(description: SystemDescription, prng: Prng) -> list[VariantDescription]:
    """For each part one of its variants, or none: the system as it is described."""
    parts: dict[str, list[VariantDescription]] = {}
    for variant in description.variants:
        parts.setdefault(variant.of, []).append(variant)
    drawn = []
    for part, variants in parts.items():
        choice = prng.fork(f"variant of {part}").below(len(variants) + 1)
        drawn += variants[choice - 1 : choice] if choice else []
    return drawn
