"""One machine in several places of a system: groups, their numbers, their neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.controller.shapes import ProtocolInfo
from runtime.description import DescriptionError, SystemDescription
from runtime.description.export import editable_toml
from runtime.description.inference import complete
from runtime.errors import ProtocolError
from runtime.system.builder import build_system
from runtime.system.system import agent_places
from tests.runtime.mini_protocol import CacheController, DirectoryController

LEVELS = """
protocol = "levels.slicc"
[machine.L1Cache.parameters]
latency = 4
[machine.L1Cache.buffer]
out = { randomized = false }
[machine.Above]
of = "L1Cache"
count = 4
downstream = ["Between"]
[machine.Between]
of = "L1Cache"
count = 2
interleaved = false
downstream = ["Close"]
upstream = ["Above"]
[machine.Between.parameters]
latency = 5
[machine.Between.cache.cache]
sets = 2
[machine.Close]
of = "L1Cache"
as_many_as = "Between"
interleaved = true
upstream = ["Between"]
downstream = ["Directory"]
[machine.Directory]
count = 2
[requester.cpu]
machine = "Above"
"""
LEVELLED = ProtocolInfo("levels", (CacheController, DirectoryController))


def described(text: str = LEVELS) -> SystemDescription:
    return complete(SystemDescription.from_toml(text, "x.toml"), LEVELLED)


def test_groups_take_over_what_is_said_of_their_machine() -> None:
    whole = described()
    assert complete(whole, LEVELLED) == whole
    assert list(whole.machines) == ["Above", "Between", "Close", "Directory"]
    assert [m.count for m in whole.machines.values()] == [4, 2, 2, 2]
    assert [m.parameters["latency"] for m in whole.machines.values()] == [4, 5, 4, 2]
    assert [whole.machines[name].caches["cache"].sets for name in ("Above", "Between")] == [16, 2]
    assert whole.machines["Close"].caches["cache"].start_index_bit == 7
    assert not whole.machines["Between"].buffers["out"].randomized
    assert whole.groups_of("L1Cache") == ["Above", "Between", "Close"]
    assert whole.instances_of("L1Cache")[5] == ("Between", 1)


def test_instances_are_numbered_through_and_know_their_neighbours() -> None:
    system = build_system(LEVELLED, described(), 7)
    caches = system.controllers[:8]
    assert [repr(cache) for cache in caches] == [f"L1Cache {i}" for i in range(8)]

    def numbers(machines: Any) -> list[tuple[int, int]]:
        kind = caches[0].MACHINE_TYPE
        return [(machine.type == kind, machine.num) for machine in machines]

    assert [numbers(cache.downstream) for cache in caches[:4]] == [
        [(True, 4)],
        [(True, 4)],
        [(True, 5)],
        [(True, 5)],
    ]
    assert numbers(caches[4].downstream) == [(True, 6), (True, 7)]
    assert numbers(caches[6].downstream) == [(False, 0), (False, 1)]
    assert numbers(caches[5].upstream) == [(True, 2), (True, 3)]
    assert numbers(caches[6].upstream) == [(True, 4), (True, 5)]
    middle = caches[4]
    assert [middle.mapAddressToDownstreamMachine(line * 64).num for line in range(3)] == [6, 7, 6]
    kind = system.controllers[8].MACHINE_TYPE
    assert caches[7].mapAddressToDownstreamMachine(0x1C0, kind).num == 1
    with pytest.raises(ProtocolError, match="no downstream machine"):
        middle.mapAddressToDownstreamMachine(0, kind)
    assert [system.requesters[i].name for i in range(4)] == ["cpu0", "cpu1", "cpu2", "cpu3"]
    assert [place.requester for place in agent_places(system.description)] == [0, 1, 2, 3]
    assert caches[4].parameters["cache"].name == "L1Cache4.cache"
    assert caches[4].parameters["latency"] == 5


def test_upstream_is_everybody_where_nobody_says_downstream() -> None:
    text = LEVELS.replace('count = 4\ndownstream = ["Between"]', "count = 4")
    system = build_system(LEVELLED, described(text), 7)
    assert [machine.num for machine in system.controllers[5].upstream] == [0, 1, 2, 3]


def test_groups_are_printed_for_editing() -> None:
    written = SystemDescription.from_toml(LEVELS)
    text = editable_toml("levels.slicc", written, described(), LEVELLED)
    assert complete(SystemDescription.from_toml(text), LEVELLED) == described()
    assert '[machine.Close]\nof = "L1Cache"\n# count = 2\nas_many_as = "Between"\n' in text
    fewer = text.replace('of = "L1Cache"\ncount = 2', 'of = "L1Cache"\ncount = 1')
    edited = complete(SystemDescription.from_toml(fewer), LEVELLED)
    assert edited.machines["Close"].count == 1


def test_steady_buffers_of_one_group_only() -> None:
    text = LEVELS.replace("[machine.L1Cache.buffer]", "[machine.Between.buffer]")
    whole = described(text + '[network]\ndelays = "uniform"')
    system = build_system(LEVELLED, whole, 7)
    delayed = [
        system.controllers[i].parameters["out"].route(8).delays is not None for i in range(8)
    ]
    assert delayed == [True] * 4 + [False] * 2 + [True] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[machine.A]\nof = 'L1Cash'", 'x.toml:2: machine.A.of = "L1Cash": no such machine'),
        ("[machine.A]", "no such machine"),
        ("[machine.Directory]\nof = 'L1Cache'", "is a machine itself"),
        ("[machine.A]\nof = 'L1Cache'\n[machine.L1Cache]\nas_many_as = 'B'", "no such machine"),
        ("[machine.A]\nof = 'L1Cache'\ndownstream = ['L1Cache']", "no such machine"),
        ("[machine.A]\nof = 'L1Cache'\n[requester.r]\nmachine = 'L1Cache'", "no such machine"),
    ],
)
def test_what_is_no_group_is_refused(text: str, words: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        described(text)
    assert words in str(caught.value)
