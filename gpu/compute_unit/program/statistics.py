"""What a compute unit did, counted.

Invariant: counters only grow, and cost one addition where they are counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from gpu.compute_unit.program.decoded_program import UNITS
from gpu.isa.instruction import Unit
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class Statistics:
    """``by_unit``: wave instructions, in the order of `UNITS`. ``memory``: memory instructions by
    mnemonic. ``lines``: how many cache lines a vector memory instruction touched -> how many did.
    ``stalls``: cycles that waves waited, by reason. ``bank_cycles``: of LDS; ``bank_conflicts``:
    those of them that other places would have saved. ``lds_out_of_range``: lanes beyond their
    bound.
    """

    by_unit: list[int] = field(default_factory=lambda: [0] * len(UNITS))
    memory: Counter[str] = field(default_factory=Counter)
    lines: Counter[int] = field(default_factory=Counter)
    stalls: Counter[str] = field(default_factory=Counter)
    bank_cycles: int = 0
    bank_conflicts: int = 0
    lds_out_of_range: int = 0
    fetches: int = 0
    waves: int = 0
    groups: int = 0

    @property
    def executed(self) -> int:
        """Wave instructions."""
        return sum(self.by_unit)

    @property
    def instructions(self) -> dict[Unit, int]:
        """Wave instructions by unit."""
        return {unit: count for unit, count in zip(UNITS, self.by_unit) if count}

    def add(self, other: Statistics) -> None:
        """Count what another unit did as well."""
        self.by_unit = [mine + theirs for mine, theirs in zip(self.by_unit, other.by_unit)]
        self.memory.update(other.memory)
        self.lines.update(other.lines)
        self.stalls.update(other.stalls)
        for name in ("bank_cycles", "bank_conflicts", "lds_out_of_range", "fetches", "waves"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.groups += other.groups

    def as_dict(self) -> dict[str, object]:
        """For a JSON file; what takes time only if time was modelled."""
        work: dict[str, object] = {
            "wave_instructions": self.executed,
            "by_unit": {unit.value: count for unit, count in self.instructions.items()},
            "memory_instructions": dict(sorted(self.memory.items())),
            "lds_lanes_out_of_range": self.lds_out_of_range,
            "waves": self.waves,
            "groups": self.groups,
        }
        if not self.fetches:
            return work
        touched = sum(count * lines for lines, count in self.lines.items())
        accesses = self.lines.total()
        return work | {
            "lines_per_vector_access": touched / accesses if accesses else 0.0,
            "vector_accesses_by_lines": {str(n): c for n, c in sorted(self.lines.items())},
            "stall_cycles": dict(sorted(self.stalls.items())),
            "lds_bank_cycles": self.bank_cycles,
            "lds_bank_conflict_cycles": self.bank_conflicts,
            "fetches": self.fetches,
        }
