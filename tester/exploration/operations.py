"""What the agents of an exploration may begin.

Invariant: the number of an operation is its place in `OPERATIONS`, and nothing here depends on a
protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from runtime.requesters.port import AccessKind, Scope
from slicc.text.lazy_dataclass import dataclass


class Target(IntEnum):
    """What an operation is about: ``Target`` of exploration/agents/agents.hpp."""

    NOTHING = 0
    LOCATION = 1
    WORD = 2
    LINE = 3


@dataclass(frozen=True, slots=True)
class Operation:
    """``verb``: what the agent does, for people."""

    name: str
    verb: str
    kind: int
    target: Target
    scope: int = 0


OPERATIONS: Final = (
    Operation("load", "loads", AccessKind.LOAD, Target.LOCATION),
    Operation("store", "stores", AccessKind.STORE, Target.LOCATION),
    Operation("atomic", "adds to", AccessKind.ATOMIC, Target.WORD),
    Operation("acquire", "acquires", AccessKind.ACQUIRE, Target.NOTHING),
    Operation("release", "releases", AccessKind.RELEASE, Target.NOTHING),
    Operation("fetch", "fetches", AccessKind.LOAD, Target.LOCATION, Scope.INSTRUCTION),
    Operation("flush", "flushes", AccessKind.FLUSH, Target.LINE),
    Operation("load.glc", "loads (glc)", AccessKind.LOAD, Target.LOCATION, Scope.GLC),
    Operation("load.slc", "loads (slc)", AccessKind.LOAD, Target.LOCATION, Scope.GLC | Scope.SLC),
    Operation(
        "store.slc", "stores (slc)", AccessKind.STORE, Target.LOCATION, Scope.GLC | Scope.SLC
    ),
    Operation("atomic.slc", "adds (slc) to", AccessKind.ATOMIC, Target.WORD, Scope.SLC),
)
NAMES: Final = tuple(each.name for each in OPERATIONS)
_OF_GPU: Final = frozenset(NAMES) - {"fetch", "flush"}
_OF_CPU: Final = frozenset({"load", "store", "atomic", "fetch"})
_OF_ENGINE: Final = frozenset({"load", "store"})
DEFAULT: Final = {"gpu": ("load", "store", "acquire"), "cpu": ("load", "store"), "dma": ()}
"""By kind of agent: what it does where nothing else is asked for. Engines are idle."""


def able(kind: str, *, fetches: bool, flushes: bool, stores: bool, loads: bool) -> frozenset[str]:
    """Names of what agents of a kind can do at all."""
    if kind == "gpu":
        found = _OF_GPU
    elif kind == "dma":
        found = _OF_ENGINE
    else:
        found = _OF_CPU if fetches else _OF_CPU - {"fetch"}
    if flushes:
        found |= {"flush"}
    if not loads:
        found -= {"load"}
    return found if stores else found - {"store", "store.slc", "atomic", "atomic.slc"}


def numbers(names: Iterable[str]) -> int:
    """A bit for each."""
    bits = 0
    for name in names:
        bits |= 1 << NAMES.index(name)
    return bits
