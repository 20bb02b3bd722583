"""Counters of runs that can be counted by hand, on the protocol written by hand."""

from __future__ import annotations

from typing import Any

from runtime.description import SystemDescription
from runtime.requesters.port import Access, AccessKind
from runtime.statistics.census import TABLES
from runtime.statistics.counters import Counters
from runtime.statistics.words import TallyWord
from runtime.system.builder import build_system
from runtime.system.system import System
from tests.runtime.mini_protocol import MINI
from tests.runtime.requesters.requester_kit import Recorder


def build() -> System:
    return build_system(MINI, SystemDescription.from_toml("", "mini.toml"), 1)


def run(system: System, *addresses: int) -> None:
    """Loads of four bytes at the first requester, one after the other."""
    client: Any = Recorder(system.engine)
    for address in addresses:
        access = Access(AccessKind.LOAD, client, addresses=[address], size=4)
        client.issue(system.requesters[0], access)
        system.engine.run()


def test_a_census_names_each_thing_of_a_system_once() -> None:
    system = build()
    census = Counters(system).census
    assert len(census.controllers) == len(system.controllers)
    assert [census.machines[each] for each in census.controllers] == [
        each.MACHINE for each in system.controllers
    ]
    assert len(census.buffers) == len(system.buffers)
    assert sum(census.mandatory) == len(
        {
            id(each.mandatory_queue)
            for each in system.controllers
            if each.mandatory_queue is not None
        }
    )
    assert {(name, TABLES) for name in census.machines} <= set(census.series)


def test_a_miss_asks_the_directory_and_fills_a_frame() -> None:
    system = build()
    counters = Counters(system)
    run(system, 0x1000)
    counted = counters.counted()
    assert counted.tally("L1Cache", TallyWord.FILLS) == 1
    assert counted.tally("L1Cache", TallyWord.EVICTIONS) == 0
    routes = {(each.sender, each.receiver): count for each, count in counted.messages.items()}
    assert routes == {("L1Cache", "Directory"): 1, ("Directory", "L1Cache"): 1}


def test_nothing_counts_behind_the_stop() -> None:
    system = build()
    counters = Counters(system)
    run(system, 0x1000)
    counters.stop()
    before = sum(counters.counted().messages.values())
    run(system, 0x2000, 0x3000)
    assert sum(counters.counted().messages.values()) == before > 0
