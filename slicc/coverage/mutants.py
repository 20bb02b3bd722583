"""What became of the mutants of a protocol: a report of ``gpu-tester mutate``, for pages.

Invariant: a mutant that :func:`study_from` returns names cells and lines; whether the protocol has
them is for the reader to look up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from slicc.coverage.cells import Cell
from slicc.coverage.file import Count, Digest, Line, Name, as_struct
from slicc.text.lazy_dataclass import dataclass

SCHEMA: Final = "gpu-tester.mutation/1"


class Fate(StrEnum):
    """In the order of reports."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    OPEN = "open"
    """The study has not come to its end with it."""


class _Mutant(msgspec.Struct):
    machine: Name
    where: Line
    file: Line
    line: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
    description: Line
    fate: Fate
    verdict: Line = ""
    reason: Line = ""


class _Study(msgspec.Struct):
    schema: str
    protocol: Line
    digest: Digest
    version: Line
    seed: int
    episodes: Count
    of: Count
    mutants: Annotated[list[_Mutant], msgspec.Meta(max_length=1 << 20)]


@dataclass(frozen=True, slots=True)
class Mutant:
    """``where``: the states and events of a row (``I,S.Load``), or the name of a body."""

    machine: str
    where: str
    file: str
    line: int
    description: str
    fate: Fate
    why: str

    @property
    def cells(self) -> list[Cell]:
        """The cells of the row with the mistake; none if it is in a body."""
        states, dot, events = self.where.partition(".")
        return [(s, e) for s in states.split(",") for e in events.split(",")] if dot else []


@dataclass(frozen=True, slots=True)
class Study:
    """``of``: how many mutants the protocol has."""

    protocol: str
    digest: str
    version: str
    seed: int
    episodes: int
    of: int
    mutants: tuple[Mutant, ...]


def study_from(path: Path, known: dict[str, Any]) -> Study:
    """What the object of a file says. Raises CoverageError."""
    read = as_struct(path, known, _Study)
    mutants = tuple(
        Mutant(m.machine, m.where, m.file, m.line, m.description, m.fate, m.verdict or m.reason)
        for m in read.mutants
    )
    return Study(
        read.protocol, read.digest, read.version, read.seed, read.episodes, read.of, mutants
    )


def counted(mutants: Iterable[Mutant]) -> Counter[Fate]:
    """How many have each fate."""
    return Counter(mutant.fate for mutant in mutants)


def in_words(fates: Mapping[Fate, int]) -> str:
    """``3 killed, 1 survived``; of those alone that a run has judged."""
    judged = (Fate.KILLED, Fate.SURVIVED)
    return ", ".join(f"{fates[fate]:,} {fate.value}" for fate in judged if fates.get(fate))


def score_of(fates: Mapping[Fate, int]) -> float | None:
    """Percent that were killed of those that could be; None: there are none."""
    killed, survived = (fates.get(fate, 0) for fate in (Fate.KILLED, Fate.SURVIVED))
    return 100 * killed / (killed + survived) if killed + survived else None
