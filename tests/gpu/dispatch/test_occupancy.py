"""Resources of a compute unit: what fits equals what a search over all placements finds."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.dispatch.launch import Demand
from gpu.dispatch.occupancy import LDS_GRANULE, Limits, Resources, occupancy

SMALL = Limits(simds=2, waves_per_simd=3, vgprs=64, sgprs=96, lds=4096, barriers=2)
demands = st.builds(
    Demand,
    waves=st.integers(1, 7),
    vgprs=st.sampled_from((4, 16, 24, 32, 64, 68)),
    sgprs=st.sampled_from((16, 32, 48, 96)),
    lds=st.sampled_from((0, 1, 512, 513, 2048, 4096, 4097)),
)


def holds(limits: Limits, load: list[tuple[Demand, tuple[int, ...]]]) -> bool:
    """Whether groups with their waves on these SIMDs stay within every limit."""
    for simd in range(limits.simds):
        here = [demand for demand, simds in load for place in simds if place == simd]
        if (
            len(here) > limits.waves_per_simd
            or sum(demand.vgprs for demand in here) > limits.vgprs
            or sum(demand.sgprs for demand in here) > limits.sgprs
        ):
            return False
    granules = sum(-(-demand.lds // LDS_GRANULE) for demand, _ in load)
    barriers = sum(demand.waves > 1 for demand, _ in load)
    return granules * LDS_GRANULE <= limits.lds and barriers <= limits.barriers


def some_placement(limits: Limits, load: list[tuple[Demand, tuple[int, ...]]], new: Demand) -> bool:
    """Try every way to put the new group's waves beside what is there."""
    return any(
        holds(limits, [*load, (new, simds)])
        for simds in combinations_with_replacement(range(limits.simds), new.waves)
    )


@given(st.lists(st.tuples(demands, st.booleans()), max_size=12))
def test_what_fits_is_what_a_search_finds(steps: list[tuple[Demand, bool]]) -> None:
    resources = Resources(SMALL)
    taken = []
    for demand, end_one in steps:
        if end_one and taken:
            resources.give_back(taken.pop(0))
        load = [(group.demand, group.simds) for group in taken]
        assert resources.fits(demand) == some_placement(SMALL, load, demand)
        if resources.fits(demand):
            taken.append(resources.take(demand))
            assert holds(SMALL, [(group.demand, group.simds) for group in taken])
    for group in taken:
        resources.give_back(group)
    assert resources.idle


@given(demands)
def test_occupancy_is_what_one_after_the_other_fits(demand: Demand) -> None:
    resources = Resources(SMALL)
    groups = 0
    while resources.fits(demand):
        resources.take(demand)
        groups += 1
    assert occupancy(SMALL, demand).groups == groups
    assert resources.could_ever_fit(demand) == (groups > 0)


@pytest.mark.parametrize(
    ("demand", "groups", "limit"),
    [
        (Demand(waves=4, vgprs=24, sgprs=16, lds=0), 10, "waves"),
        (Demand(waves=4, vgprs=84, sgprs=16, lds=0), 3, "VGPRs"),
        (Demand(waves=1, vgprs=4, sgprs=112, lds=0), 28, "SGPRs"),
        (Demand(waves=1, vgprs=4, sgprs=16, lds=16 * 1024 + 1), 3, "LDS"),
        (Demand(waves=2, vgprs=4, sgprs=16, lds=0), 16, "barriers"),
        (Demand(waves=16, vgprs=68, sgprs=16, lds=0), 0, "VGPRs"),
    ],
)
def test_gfx803_figures(demand: Demand, groups: int, limit: str) -> None:
    found = occupancy(Limits(), demand)
    assert (found.groups, found.limit, found.waves) == (groups, limit, groups * demand.waves)


def test_taking_too_much_is_refused() -> None:
    resources = Resources(SMALL)
    with pytest.raises(ValueError, match="does not fit"):
        resources.take(Demand(waves=7, vgprs=4, sgprs=16, lds=0))
