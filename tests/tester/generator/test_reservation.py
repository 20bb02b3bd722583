"""Two ends of a location say what all of its holders would."""

from __future__ import annotations

import pytest

from runtime.prng import Prng
from tester.generator.reservation import Claim, Holder


def overlaps(one: Holder, other: Holder) -> bool:
    """Whether they may not hold one location both, judged without any order."""
    if one.episode == other.episode:
        return one.lane != other.lane and (one.stores or other.stores)
    return (one.stores or other.stores) and one.begin < other.end and other.begin < one.end


@pytest.mark.parametrize("seed", range(20))
def test_a_location_is_free_if_no_holder_overlaps(seed: int) -> None:
    prng = Prng(seed)
    claim, holders, clock = Claim(), list[Holder](), 0
    refused = 0
    for episode in range(60):
        clock += prng.below(4)
        end = clock + 1 + prng.below(12)
        for _ in range(1 + prng.below(4)):
            stores = prng.below(3) == 0
            asking = Holder(episode, clock, end, 0, prng.below(2), stores)
            free = not any(overlaps(asking, other) for other in holders)
            assert claim.is_free(asking) == free
            refused += not free
            if free:
                claim.hold(asking)
                holders.append(asking)
    assert refused > 10 and len(holders) > 10


def test_a_lane_is_in_the_way_of_others_of_its_episode_only() -> None:
    claim = Claim()
    claim.hold(Holder(1, 0, 50, 1, 0, stores=True))
    assert claim.agrees(Holder(1, 0, 50, 1, 0, stores=True))
    assert not claim.agrees(Holder(1, 0, 50, 1, 1, stores=False))
    targeting = Holder(2, 10, 30, 2, 3, stores=False)
    assert claim.agrees(targeting) and not claim.is_free(targeting)
    claim.hold(targeting)
    assert not claim.is_free(Holder(3, 40, 60, 3, 0, stores=False))  # the store lasts
    assert claim.is_free(Holder(3, 50, 60, 3, 0, stores=True))


def test_loads_prefer_unobserved_stores_and_stores_overwrite_observed_ones() -> None:
    claim = Claim()
    own_load, load = (Holder(n, 9, 12, n, 0, stores=False) for n in (1, 2))
    store = Holder(2, 9, 12, 2, 0, stores=True)
    assert not claim.is_preferred(load) and claim.is_preferred(store)  # nothing is stored
    claim.hold(Holder(1, 0, 5, 1, 0, stores=True))
    claim.hold(own_load)
    assert (
        claim.is_preferred(load)
        and not claim.is_preferred(own_load)
        and not claim.is_preferred(store)
    )
    claim.hold(load)
    assert not claim.is_preferred(load) and claim.is_preferred(store)
