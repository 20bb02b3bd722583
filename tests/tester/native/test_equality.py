"""Both engines make the same transitions, tick for tick, on everything that is shipped."""

from __future__ import annotations

from itertools import product

import pytest

from runtime.native.plan import POOLS, Capacities
from runtime.native.system import RunStatus
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.execution.handover import handover_rules_of
from tester.native.leg import NativeLegRun
from tester.profiles.profiles import PROFILES
from tester.profiles.special_profiles import COMPARISONS
from tests.sampling import sampled
from tests.tester.native.equality import (
    PROTOCOLS,
    engine,
    in_python,
    leg_of,
    loaded,
    native,
    natively,
)


@pytest.mark.parametrize(("protocol", "profile"), sampled(product(PROTOCOLS, sorted(PROFILES)), 10))
def test_every_profile_runs_alike(protocol: str, profile: str) -> None:
    leg = leg_of(protocol, profile, 1)
    assert natively(protocol, leg)[0] == in_python(protocol, leg)[0]


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("protocol", ["MI", "GPU_VIPER"])
def test_another_seed_runs_alike(protocol: str, profile: str) -> None:
    leg = leg_of(protocol, profile, 2)
    assert natively(protocol, leg)[0] == in_python(protocol, leg)[0]


@pytest.mark.parametrize("profile", COMPARISONS)
def test_comparisons_run_alike(profile: str) -> None:
    leg = leg_of("MI", profile, 1)
    assert natively("MI", leg)[0] == in_python("MI", leg)[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 60))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_seeds_run_alike(protocol: str, seed: int) -> None:
    for profile in PROFILES:
        leg = leg_of(protocol, profile, seed)
        assert natively(protocol, leg)[0] == in_python(protocol, leg)[0], profile


@pytest.mark.parametrize("protocol", sampled(PROTOCOLS, 2))
def test_campaigns_add_up_alike(protocol: str) -> None:
    """Totals and coverage of a run do not depend on the engine."""
    runs = []
    for chosen in (engine(protocol), None):
        arguments = (loaded(protocol), Options(7, 150))
        campaign = Campaign(*arguments) if chosen is None else Campaign(*arguments, chosen)
        number = 0
        while campaign.totals.episodes < 150:
            _, finding = campaign.run_leg(campaign.plan(number).leg)
            assert finding is None
            number += 1
        runs.append((campaign.totals, campaign.coverage, campaign.transitions))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_restored_run_goes_on_as_before(protocol: str) -> None:
    leg = leg_of(protocol, "coherence", 3)
    system = NativeLegRun(leg, native(protocol), handover_rules_of(leg)).start()

    def state() -> tuple[object, ...]:
        return system.trace_hash, system.transitions, system.now, system.next_tick, system.leaks()

    system.run(200)
    snapshot, start = system.snapshot(), state()
    system.run(400)
    middle = state()
    assert middle != start
    assert system.run() != RunStatus.FINDING
    end = state()
    for _ in range(2):
        system.restore(snapshot)
        assert state() == start
        system.run(400)
        assert state() == middle
        system.run()
        assert state() == end


def test_a_snapshot_fits_only_its_system() -> None:
    system = NativeLegRun(
        leg := leg_of("MI", "coherence", 3), native("MI"), handover_rules_of(leg)
    ).start()
    with pytest.raises(ValueError, match="another system"):
        system.restore(b"\0" * (system.size - 8))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_stopping_often_changes_nothing(protocol: str) -> None:
    leg = leg_of(protocol, "hot-ping-pong", 4)
    hashes = set()
    for step in (1, 7, 100_000):
        system = NativeLegRun(leg, native(protocol), handover_rules_of(leg)).start()
        while (tick := system.next_tick) is not None:
            system.run(tick + step)
        hashes.add((system.trace_hash, system.now, system.lane_accesses))
    assert len(hashes) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pools_that_are_too_small_grow(protocol: str) -> None:
    leg = leg_of(protocol, "coherence", 5)
    expected = natively(protocol, leg)[0]
    run = NativeLegRun(leg, native(protocol), handover_rules_of(leg))
    run.capacities = Capacities(**dict.fromkeys(POOLS, 16))
    run.run()
    assert run.outcome.ticks == expected.ticks
    assert run.system.trace_hash == expected.trace
    assert run.capacities != Capacities(**dict.fromkeys(POOLS, 16))
