"""Plans that are composed, compared with those that are read off built systems."""

from __future__ import annotations

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from runtime.native.plan import Capacities, Plans
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options


def plans_of(protocol: LoadedProtocol) -> Plans:
    assert protocol.native is not None, protocol.why_not_native
    return Plans(protocol.info, protocol.native.shape)


def compare(plans: Plans, description: SystemDescription, run_key: int = 1) -> bool:
    """Whether one is composed; it must have the same words then. Its machines are known after."""
    known, built = plans.composed(description), plans.read_off(description)
    if known is None:
        return False
    sizes = Capacities()
    assert np.array_equal(known.words(run_key, sizes, 3), built.words(run_key, sizes, 3))
    return True


def compare_drawn(protocol: LoadedProtocol, seed: int, legs: int = 30) -> int:
    """How many of the systems that a campaign draws are composed."""
    plans, campaign = plans_of(protocol), Campaign(protocol, Options(seed, 10**9, leg_episodes=1))
    return sum(compare(plans, campaign.plan(n).leg.description, seed) for n in range(legs))
