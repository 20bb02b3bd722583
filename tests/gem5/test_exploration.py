"""What exploring gem5's protocols comes to: docs/compatibility.md has the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from tester.errors import ConfigError
from tester.exploration.counterexample.counterexample import counterexample
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.native_search import Rules
from tester.exploration.native_words import FindingKind
from tester.exploration.small_system import Bounds
from tests.gem5.checkout import DRIVERS

pytestmark = pytest.mark.gem5
RULES = Rules(most_states=1_000_000, bound=1 << 16)
ALONE = (("machine.CorePair.count", 0),)
FLUSHES = ("load", "store", "flush")
CHUNKS = tuple((f"machine.{name}.parameters.data_channel_size", 16) for name in ("Cache", "Memory"))
"""Lines of 16 bytes in one piece, as the parameter must not be larger."""
WITH_DEVICES = (*((f"machine.{name}.count", 0) for name in ("L1I", "MiscNode")), *CHUNKS)
PROCESSORS = (("machine.RNI.count", 0), *WITH_DEVICES)
AT_ONCE = (("machine.L1Cache.parameters.retry_threshold", 0),)
CLEAN = {
    "MI_example": (Bounds(), 3_430),
    "MI_example with an engine": (Bounds(locations=1, engines=True), 192_746),
    "MSI": (Bounds(), 5_614),
    "MESI_Two_Level": (Bounds(), 9_166),
    "MESI_Two_Level with an engine": (Bounds(locations=1, engines=True), 470_886),
    "MESI_Three_Level": (Bounds(), 118_014),
    "MOESI_AMD_Base": (Bounds(caches=1), 1_041),
    "MOESI_CMP_directory": (Bounds(), 68_149),
    "MOESI_CMP_directory with two agents": (Bounds(agents=2, locations=1), 444_265),
    "GPU_VIPER without processors": (
        Bounds(caches=1, locations=1, assignments=ALONE),
        635,
    ),
    "GPU_VIPER with two lines": (
        Bounds(caches=1, lines=2, locations=1, assignments=ALONE),
        445_410,
    ),
    "MESI_Three_Level_HTM": (Bounds(), 118_014),
    "MOESI_CMP_token": (Bounds(caches=1, locations=1), 453),
    "CHI with one cache": (Bounds(caches=1, locations=1, assignments=PROCESSORS), 60),
    "CHI": (Bounds(locations=1, assignments=PROCESSORS), 29_987),
    "MOESI_hammer": (Bounds(), 12_155),
    "MOESI_hammer with an engine": (Bounds(locations=1, engines=True), 244_851),
    "MOESI_hammer with flushes": (Bounds(locations=1, operations=FLUSHES), 21_064),
}
BOUNDED = (
    ("MOESI_CMP_directory", Bounds(caches=1, lines=2, locations=1), 3, 52_535),
    ("MOESI_CMP_directory", Bounds(lines=2, locations=1), 1, 65_547),
    ("MOESI_CMP_directory", Bounds(locations=1, engines=True), 3, 731_734),
    ("MOESI_CMP_token", Bounds(locations=1, assignments=AT_ONCE), 1, 125_339),
)
"""How many messages may be under way: unblocks pile up, or requests that are made again."""
DEFECTS = {
    "MI_example": (Bounds(engines=True), FindingKind.VALUE, 9),
    "MSI": (Bounds(lines=2, locations=1), FindingKind.ERROR, 14),
    "MESI_Two_Level": (Bounds(lines=2, locations=1, engines=True), FindingKind.ERROR, 15),
    "MESI_Two_Level with two agents": (Bounds(agents=2, locations=1), FindingKind.VALUE, 16),
    "MESI_Three_Level": (Bounds(lines=2, locations=1, engines=True), FindingKind.ERROR, 20),
    "MOESI_AMD_Base": (Bounds(caches=1, lines=2, locations=1), FindingKind.VALUE, 23),
    "MESI_Three_Level with two agents": (Bounds(agents=2, locations=1), FindingKind.VALUE, 22),
    "GPU_VIPER": (Bounds(locations=1), FindingKind.VALUE, 13),
    "GPU_VIPER without processors": (
        Bounds(caches=2, locations=1, assignments=ALONE),
        FindingKind.VALUE,
        20,
    ),
    "CHI": (
        Bounds(caches=1, locations=1, engines=True, assignments=WITH_DEVICES),
        FindingKind.VALUE,
        21,
    ),
    "MOESI_hammer": (
        Bounds(locations=1, engines=True, operations=FLUSHES),
        FindingKind.ERROR,
        6,
    ),
}
REFUSED = {
    "Garnet_standalone": "cannot be explored: its loads return no values",
}


def path_of(name: str, root: Path) -> str:
    return str(root / DRIVERS[name.partition(" ")[0]])


@pytest.mark.parametrize("name", CLEAN)
def test_the_smallest_systems_are_clean(name: str, gem5_root: Path) -> None:
    bounds, states = CLEAN[name]
    found = explore(load_protocol(path_of(name, gem5_root), native=True), bounds, RULES)
    assert (found.conclusion, found.statistics.states) == (Conclusion.EXHAUSTED, states)


@pytest.mark.parametrize(("name", "bounds", "bound", "states"), BOUNDED)
def test_within_a_bound(
    name: str, bounds: Bounds, bound: int, states: int, gem5_root: Path
) -> None:
    protocol = load_protocol(path_of(name, gem5_root), native=True)
    found = explore(protocol, bounds, replace(RULES, bound=bound))
    assert (found.conclusion, found.statistics.states) == (Conclusion.EXHAUSTED, states)


@pytest.mark.parametrize("name", DEFECTS)
def test_known_defects_are_found(name: str, gem5_root: Path) -> None:
    bounds, kind, steps = DEFECTS[name]
    found = explore(load_protocol(path_of(name, gem5_root), native=True), bounds, RULES)
    assert found.finding is not None
    assert (found.finding.kind, len(found.finding.trace)) == (kind, steps)


def test_a_leg_of_chi_fails_as_the_exploration_did(gem5_root: Path) -> None:
    chi = load_protocol(path_of("CHI", gem5_root), native=True)
    made = counterexample(explore(chi, DEFECTS["CHI"][0], RULES), chi)
    assert (made.same, made.kind) == (True, "wrong-value")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explored_is_named(name: str, gem5_root: Path) -> None:
    refused = load_protocol(path_of(name, gem5_root), native=True)
    with pytest.raises(ConfigError, match=REFUSED[name]):
        explore(refused, Bounds(), RULES)


def test_prefetchers_that_are_used_are_named(gem5_root: Path) -> None:
    mesi = load_protocol(path_of("MESI_Two_Level", gem5_root), native=True)
    prefetches = (("machine.L1Cache.parameters.enable_prefetch", True),)
    with pytest.raises(ConfigError, match=r"with L1Cache\.prefetcher: set machine"):
        explore(mesi, Bounds(assignments=prefetches), RULES)
