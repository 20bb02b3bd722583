"""A composed plan has the words of the plan that is read off the built system."""

from __future__ import annotations

import pytest

from protocols.loader import load_protocol
from tests.runtime.native.composed import compare, compare_drawn, plans_of
from tests.sampling import sampled
from tests.tester.native.equality import PROTOCOLS

LEGS = 12


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("seed", sampled([1, 2, 3], 3))
def test_words_are_the_same(name: str, seed: int) -> None:
    composed = compare_drawn(load_protocol(name, (), None, native=True), seed, LEGS)
    assert composed > LEGS // 2, "most legs have machines that were seen before"


def test_a_script_of_delays_is_not_composed() -> None:
    protocol = load_protocol("MSI", (), None, native=True)
    plans, description = plans_of(protocol), protocol.description
    plans.read_off(description)
    assert compare(plans, description)
    assert not compare(plans, description.override({"network.delays": "scripted"}))


def test_machines_with_other_parameters_are_read_off_again() -> None:
    protocol = load_protocol("GPU_VIPER", (), None, native=True)
    plans = plans_of(protocol)
    plans.read_off(protocol.description)
    other = protocol.description.override({"machine.TCC.parameters.number_of_TBEs": 7})
    assert not compare(plans, other)
    assert compare(plans, other)
