"""Small systems that tests explore, compiled once a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from protocols.loader import LoadedProtocol, load_protocol
from runtime.native.ctypes_api import SharedObject
from tester.exploration.exploration import Exploration, explore
from tester.exploration.native_search import NativeSearch, Rules, build
from tester.exploration.small_system import Bounds, SmallSystem, small_system
from tests.planted.bug import HANG, Bug, BugClass, Edit

SMALL = Rules(most_states=400_000)
STARVES = Bug(
    "msi-owner-starves-a-reader",
    BugClass.LOST_COMPLETION,
    "MSI-dir.sm",
    "A load of another cache is put back for as long as there is an owner, who may go on hitting.",
    (
        Edit(
            "transition(M, GetS, S_D) {\n    fs_forwardGetS;\n    os_ownerIsSharer;\n"
            "    as_addSharer;\n    qr_popRequest;\n  }",
            "transition(M, GetS) {\n    zr_again;\n  }",
        ),
        Edit(
            "action(kw_wakeWaiting",
            'action(zr_again, "za", desc="Later") {\n'
            "    request_in.recycle(clockEdge(), cyclesToTicks(intToCycles(1)));\n  }\n\n"
            "  action(kw_wakeWaiting",
        ),
    ),
    HANG,
)
"""Nothing of it ever comes to rest, and the owner's requests are completed."""


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
