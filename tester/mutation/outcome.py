"""What became of a mutant.

Invariant: an outcome is plain and can be written down; that of a mutant is the same in every study
of the same protocol, seed and budget.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from slicc.coverage.mutants import Fate
from slicc.text.lazy_dataclass import dataclass

ENGINE_CRASH = "engine-crash"
NO_END = "no-end"
"""Verdicts for processes: the engine itself ended, or did not come back."""


@dataclass(frozen=True, slots=True)
class MutantOutcome:
    """``mutant``: its name. ``legs``: how many it has been through; ``episodes``: completed in
    all of them, whether they concern it or not, up to the end of a killed mutant's last leg.

    ``reached``: legs in which its mistake could run, ``changed``: those that went otherwise.
    ``verdict``, ``place``: of a killed one; ``reason``: why it is equivalent; of a
    survivor, what exploration says of it.
    """

    mutant: str
    fate: Fate
    legs: int = 0
    episodes: int = 0
    reached: int = 0
    changed: int = 0
    verdict: str = ""
    place: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in ("", 0)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> MutantOutcome:
        """Raises TypeError, ValueError."""
        found = MutantOutcome(**{**value, "fate": Fate(value["fate"])})
        numbers = (found.legs, found.episodes, found.reached, found.changed)
        texts = (found.mutant, found.verdict, found.place, found.reason)
        if not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError("a count that is none")
        if not all(type(text) is str for text in texts):
            raise ValueError("a text that is none")
        return found
