"""Small systems that tests explore, compiled once a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from protocols.loader import LoadedProtocol, load_protocol
from runtime.native.ctypes_api import SharedObject
from tester.exploration.exploration import Exploration, explore
from tester.exploration.native_search import NativeSearch, Rules, build
from tester.exploration.small_system import Bounds, SmallSystem, small_system
from tests.planted.bug import Bug

SMALL = Rules(most_states=400_000)


@cache
def protocol(name: str) -> LoadedProtocol:
    return load_protocol(name, native=True)


@cache
def library(name: str) -> SharedObject:
    return build(protocol(name))


def searched(
    name: str, bounds: Bounds, rules: Rules = SMALL, *, symmetry: bool = True
) -> Exploration:
    return explore(protocol(name), bounds, rules, symmetry=symmetry)


def opened(name: str, bounds: Bounds, *, symmetry: bool) -> tuple[SmallSystem, NativeSearch]:
    system = small_system(protocol(name), bounds, symmetry=symmetry)
    return system, NativeSearch(library(name), system, SMALL)


def hunted(bug: Bug, directory: Path, bounds: Bounds, rules: Rules = SMALL) -> Exploration:
    """What an exploration of the protocol with the bug comes to."""
    planted = load_protocol(str(bug.plant(directory)), native=True)
    return explore(planted, bounds, rules)
