"""A composed plan has the words of the plan that is read off the built system."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.description import SystemDescription
from runtime.native.plan import Capacities, Plans
from tester.campaign.campaign import Campaign, Options
from tests.sampling import sampled

PROTOCOLS = (
    "GPU_VIPER",
    "GPU_VIPER_APU",
    "MESI_Two_Level",
    "MI",
    "MOESI_AMD_Base",
    "MSI",
    "MSI_Snoop",
)
LEGS = 30


def drawn(protocol: LoadedProtocol, seed: int) -> Iterator[SystemDescription]:
    campaign = Campaign(protocol, Options(seed, 10**9, leg_episodes=1))
    for number in range(LEGS):
        yield campaign.plan(number).leg.description


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("seed", sampled([1, 2, 3], 1))
def test_words_are_the_same(name: str, seed: int) -> None:
    protocol = load_protocol(name, (), None, native=True)
    assert protocol.native is not None
    plans = Plans(protocol.info, protocol.native.shape)
    composed = 0
    for description in drawn(protocol, seed):
        known = plans.composed(description)
        built = plans.read_off(description)
        if known is not None:
            composed += 1
            sizes = Capacities()
            assert np.array_equal(known.words(seed, sizes, 3), built.words(seed, sizes, 3))
    assert composed > LEGS // 2, "most legs have machines that were seen before"


def test_a_script_of_delays_is_not_composed() -> None:
    protocol = load_protocol("MSI", (), None, native=True)
    assert protocol.native is not None
    plans = Plans(protocol.info, protocol.native.shape)
    description = protocol.description
    plans.read_off(description)
    assert plans.composed(description) is not None
    assert plans.composed(description.override({"network.delays": "scripted"})) is None


def test_machines_with_other_parameters_are_read_off_again() -> None:
    protocol = load_protocol("GPU_VIPER", (), None, native=True)
    assert protocol.native is not None
    plans = Plans(protocol.info, protocol.native.shape)
    plans.read_off(protocol.description)
    other = protocol.description.override({"machine.TCC.parameters.number_of_TBEs": 7})
    assert plans.composed(other) is None
    plans.read_off(other)
    assert plans.composed(other) is not None
