"""Shrinking: what stays, what is minimal, and what changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.program import Program
from tester.program.replay_file import Leg, load_leg, save_leg
from tester.program.verifier import verify
from tester.shrink.search import DoesNotFail, Shrinker, Shrunk
from tester.shrink.simpler_programs import program_steps
from tester.shrink.simpler_systems import system_steps
from tester.shrink.trials import ParallelTrials, Trials, derived
from tester.shrink.usual_systems import UsualSystems
from tests.tester.profiles.test_machine_roles import told_to_say_evictions
from tests.tester.shrink.failing import Failing, failing


class Recorded(Trials):
    """Keeps the candidates."""

    def __init__(self, failing: Failing) -> None:
        super().__init__(failing.campaign)
        self.legs: list[Leg] = []
        self.sound: list[Leg] = []
        """Those that are run without a look at their programs."""

    def endings(self, legs: Sequence[Leg], sound: bool = False) -> list[str]:
        self.legs += legs
        self.sound += legs if sound else []
        return super().endings(legs, sound)


@pytest.fixture(scope="module")
def two_owners(tmp_path_factory: pytest.TempPathFactory) -> Failing:
    return failing(tmp_path_factory.mktemp("owners"), "mi-two-owners")


@pytest.fixture(scope="module")
def trials(two_owners: Failing) -> Recorded:
    return Recorded(two_owners)


@pytest.fixture(scope="module")
def shrunk(two_owners: Failing, trials: Recorded) -> Shrunk:
    return Shrinker(two_owners.leg, two_owners.protocol, trials).run()


def test_the_result_is_small_right_and_fails_as_the_leg_did(
    shrunk: Shrunk, two_owners: Failing
) -> None:
    assert shrunk.kind == "wrong-value"
    assert not shrunk.cut
    assert shrunk.after.accesses <= 4 < shrunk.before.accesses
    assert (shrunk.after.lines, shrunk.after.threads) <= (1, 2)
    assert verify(shrunk.leg.program) == []
    assert two_owners.campaign.failure_of(shrunk.leg) == shrunk.kind
    assert shrunk.ended.startswith("L1Cache.")
    assert shrunk.ends.startswith("L1Cache.")
    assert shrunk.ending == f"nothing can be removed: tried {shrunk.candidates:,} candidates"


def test_no_piece_can_be_removed(shrunk: Shrunk, two_owners: Failing) -> None:
    steps = (*program_steps(), *system_steps(two_owners.protocol))
    trials = Trials(two_owners.campaign)
    tried = 0
    for step in steps:
        count = step.count(shrunk.leg)
        for place in range(count):
            less = step.without(shrunk.leg, np.arange(count) == place)
            if less is not None and less.program.episodes:
                tried += 1
                assert trials.ending(less) != shrunk.kind, step.what
    assert tried > 5


def test_shrunk_again_it_stays_as_it_is(
    shrunk: Shrunk, two_owners: Failing, tmp_path: Path
) -> None:
    save_leg(shrunk.leg, tmp_path / "small.leg")
    again = two_owners.shrunk(load_leg(tmp_path / "small.leg"))
    assert again.leg.program.equals(shrunk.leg.program)
    assert again.leg.digest() == shrunk.leg.digest()
    assert not again.cut


def test_candidates_are_free_of_races(shrunk: Shrunk, trials: Recorded) -> None:
    assert len(trials.legs) > 40
    judged = 0
    for leg in trials.legs[::9]:
        try:
            program = derived(leg).program
        except ValueError:  # no program at all; it was not run
            continue
        judged += 1
        assert verify(program) == []
    assert judged > 4


def test_what_is_run_without_a_look_at_its_program_is_one(shrunk: Shrunk, trials: Recorded) -> None:
    assert len(trials.legs) // 2 < len(trials.sound) < len(trials.legs)
    for leg in trials.sound:
        assert shape_errors(leg.program) == []
        assert access_errors(leg.program) == []


def test_processes_change_nothing(shrunk: Shrunk, two_owners: Failing) -> None:
    with ParallelTrials(two_owners.campaign, 2) as trials:
        parallel = Shrinker(two_owners.leg, two_owners.protocol, trials).run()
    assert parallel.leg.program.equals(shrunk.leg.program)
    assert parallel.leg.digest() == shrunk.leg.digest()
    assert parallel.candidates == shrunk.candidates
    assert list(parallel.others) == list(shrunk.others)


def test_a_limit_of_candidates_cuts_the_search(two_owners: Failing, shrunk: Shrunk) -> None:
    cut = two_owners.shrunk(most=12)
    assert cut.ending == "cut at its limit: tried 12 candidates"
    assert cut.kind == shrunk.kind
    assert two_owners.campaign.failure_of(cut.leg) == cut.kind
    assert shrunk.after.accesses < cut.after.accesses < cut.before.accesses


def test_an_interrupt_keeps_the_best_so_far(two_owners: Failing) -> None:
    def interrupt(candidates: int, program: Program) -> None:
        if candidates >= 10:
            raise KeyboardInterrupt

    trials = Trials(two_owners.campaign)
    cut = Shrinker(two_owners.leg, two_owners.protocol, trials, on_progress=interrupt).run()
    assert cut.interrupted
    assert cut.candidates == 10
    assert two_owners.campaign.failure_of(cut.leg) == cut.kind
    assert cut.after.accesses < cut.before.accesses


def test_a_leg_that_passes_is_not_shrunk(two_owners: Failing, shrunk: Shrunk) -> None:
    program = shrunk.leg.program
    nothing = program.keep_actions(np.zeros(program.actions, np.bool_))
    with pytest.raises(DoesNotFail, match="does not fail here"):
        two_owners.shrunk(derived(replace(shrunk.leg, program=nothing)))


class Slipping(Trials):
    """Candidates without the second agent fail in a way of their own."""

    def endings(self, legs: Sequence[Leg], sound: bool = False) -> list[str]:
        others = [len(np.unique(leg.program.episode_thread)) < 2 for leg in legs]
        endings = super().endings(legs, sound)
        return ["panic L1Cache.I.Load" if other else e for other, e in zip(others, endings)]


def test_another_failure_on_the_way_is_kept(two_owners: Failing) -> None:
    trials = Slipping(two_owners.campaign)
    found = Shrinker(two_owners.leg, two_owners.protocol, trials).run()
    assert found.kind == "wrong-value"
    assert found.after.threads == 2
    assert list(found.others) == ["panic L1Cache.I.Load"]
    assert found.others["panic L1Cache.I.Load"].program.derived


def test_a_hang_keeps_what_is_stuck(tmp_path: Path) -> None:
    hanging = failing(tmp_path, "mi-fill-wakes-nothing")
    found = hanging.shrunk()
    assert found.kind.startswith("hang ")
    assert Trials(hanging.campaign).ending(found.leg) == found.kind
    assert found.after.accesses <= 3


@pytest.mark.slow
def test_an_undefined_pair_keeps_its_place(tmp_path: Path) -> None:
    undefined = failing(tmp_path, "mi-late-putx-not-expected", episodes=40)
    found = undefined.shrunk()
    assert found.kind.startswith("undefined-transition Directory.")
    assert undefined.campaign.failure_of(found.leg) == found.kind


def test_shrinking_leaves_evictions_said(tmp_path: Path) -> None:
    """The least leg of a fault failed without the fault as well: it had `send_evictions` false."""
    protocol = told_to_say_evictions(tmp_path)
    usual = UsualSystems(protocol)
    legs = [Campaign(protocol, Options(1, 3000)).plan(number).leg for number in range(8)]
    settings = [path for leg in legs for path, _ in usual.settings(leg.description)]
    assert settings
    assert not [path for path in settings if path[-1] == "send_evictions"]


def test_the_order_of_networks_is_kept(two_owners: Failing) -> None:
    """A description that says that messages keep an order is of a protocol that needs it."""
    usual = UsualSystems(two_owners.protocol)
    said = {
        "network.kind": "bus",
        "network.bus": [0],
        "network.ordered": True,
        "machine.L1Cache.buffer.forwardToCache.ordered": True,
        "memory.latency": 7,
    }
    described = two_owners.leg.description.override(said)
    added = {*usual.settings(described)} - {*usual.settings(two_owners.leg.description)}
    assert [path for path, _ in added] == [("memory", "latency")]
