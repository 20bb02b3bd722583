"""What legs are: their numbers, systems and summaries, and what options fix in them."""

from __future__ import annotations

import re

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.description.inference import complete
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.errors import ConfigError


@pytest.fixture(scope="module")
def mi() -> LoadedProtocol:
    return load_protocol("MI")


def test_a_leg_does_not_depend_on_the_ones_before_it(mi: LoadedProtocol) -> None:
    options = Options(4, 100, leg_episodes=50)
    fresh = Campaign(mi, options)
    assert fresh.plan(1).leg.program.equals(Campaign(mi, options).plan(1).leg.program)
    assert not fresh.plan(1).leg.program.equals(fresh.plan(0).leg.program)


@pytest.mark.parametrize("name", ["GPU_VIPER_APU", "MESI_Two_Level"])
def test_systems_of_legs_are_complete(name: str) -> None:
    protocol = load_protocol(name)
    for profile in ("scarcity", "starvation", "system"):
        campaign = Campaign(protocol, Options(2, 10_000, profile, leg_episodes=30))
        for number in range(3):
            description = campaign.plan(number).leg.description
            assert complete(description, protocol.info) == description


def test_fields_of_agents_are_set_in_the_legs_that_have_them(mi: LoadedProtocol) -> None:
    fixed = {"agents.dma.without": ["stores"]}
    campaign = Campaign(mi, Options(1, 1 << 20, leg_episodes=5, assignments=fixed))
    engines = [campaign.plan(number).leg.description.agents.get("dma") for number in range(20)]
    assert None in engines
    assert {engine.without for engine in engines if engine is not None} == {("stores",)}


def test_a_leg_says_what_was_built_and_what_applies_to_it(mi: LoadedProtocol) -> None:
    fixed = {
        "units": 3,
        "l1_sets": 4,
        "l1_ways": 2,
        "scope_percent": 30,
        "lanes": 8,
        "flush_percent": 15,
    }
    fixed |= {"write_back": True, "lengths": (4,), "cluster_bytes": 16, "crowding": 70}
    options = Options(4, 40, profile="coherence", fixed=fixed, leg_episodes=40)
    summary = Campaign(mi, options).plan(0).summary
    assert re.fullmatch(r"coherence +40 episodes  3 L1Cache, \d Directory, \d DMA", summary.line)
    agents, machines, *program = summary.details
    assert re.fullmatch(r"\d+ agents", agents)
    assert machines.startswith("3 L1Cache (4x2), ")
    knobs = " ".join(program)
    assert " layout=dense " in knobs and " lengths=4 " in knobs and " crowding=" in knobs
    words = ("units", "wavefronts", "lanes=", "l2", "l3", "WB", "scope", "cluster", "flush", "None")
    assert [word for word in words if word in "\n".join(summary.details)] == []
    assert all(len(line) <= 96 for line in summary.details)

    options = Options(4, 40, profile="lane-merge", fixed=fixed, leg_episodes=40)
    gpu = "\n".join(Campaign(load_protocol("GPU_VIPER"), options).plan(0).summary.details)
    assert "3 TCP (4x2)" in gpu and "WB=true" in gpu and "scope_percent=30" in gpu
    assert "cluster_bytes=16" in gpu and " of 1 or 8 lanes" in gpu
    assert all(len(line) <= 96 for line in gpu.splitlines())


def test_fixed_options_hold_in_every_leg(mi: LoadedProtocol) -> None:
    fixed = {"units": 3, "l1_sets": 2, "l1_ways": 1, "directories": 2, "delays": "uniform"}
    options = Options(2, 1000, fixed=fixed, assignments={"memory.latency": 9})
    campaign = Campaign(mi, options)
    for number in range(6):
        description = campaign.plan(number).leg.description
        assert description.machines["L1Cache"].count == 3
        assert description.machines["Directory"].count == 2
        cache = description.machines["L1Cache"].caches["cacheMemory"]
        assert (cache.sets, cache.ways) == (2, 1)
        assert description.network.delays == "uniform"
        assert description.memory.latency == 9


def test_profiles_differ_between_legs(mi: LoadedProtocol) -> None:
    campaign = Campaign(mi, Options(1, 10_000))
    assert len({campaign.plan(number).leg.profile for number in range(12)}) > 3


def test_impossible_options(mi: LoadedProtocol) -> None:
    with pytest.raises(ConfigError, match="profile"):
        Campaign(mi, Options(1, 10, profile="hotpingpong")).plan(0)
    with pytest.raises(ConfigError, match="power of two"):
        Campaign(mi, Options(1, 10, fixed={"l1_sets": 3})).plan(0)
