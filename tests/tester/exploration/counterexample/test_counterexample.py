"""Counterexamples as legs: both timed engines fail with them as the exploration did."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.sim.delay_policy import SCRIPTED
from tester.campaign.campaign import Campaign, kind_of
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.exploration.counterexample.counterexample import counterexample
from tester.exploration.counterexample.followed import Began, follow, is_never
from tester.exploration.exploration import Conclusion, Exploration, explore
from tester.exploration.native_search import Rules
from tester.exploration.native_words import FindingKind
from tester.exploration.small_system import Bounds
from tester.program.replay_file import load_leg, save_leg
from tester.program.verifier import verify
from tests.planted.bugs import BUGS
from tests.tester.exploration.systems import protocol

BY_NAME = {bug.name: bug for bug in BUGS}
ONCE = Rules(most_states=400_000, bound=1 << 16)
LINES = Bounds(lines=2, locations=1)
SAMPLE = {
    "msi-owner-goes-on-writing": (Bounds(), FindingKind.TWO_WRITERS, "wrong-value"),
    "msi-eviction-wakes-nothing": (LINES, FindingKind.DEADLOCK, "hang"),
    "msi-order-meets-an-eviction": (
        LINES,
        FindingKind.ERROR,
        "undefined-transition L1Cache.SI_A.Inv",
    ),
    "mi-dma-write-not-merged": (Bounds(engines=True), FindingKind.VALUE, "wrong-value"),
    "mi-dma-read-leaves-a-transaction": (Bounds(engines=True), FindingKind.LEAK, "leak"),
    "mesi-reader-keeps-the-line": (Bounds(), FindingKind.TWO_WRITERS, "wrong-value"),
}


@cache
def hunted(name: str, bounds: Bounds) -> tuple[LoadedProtocol, Exploration]:
    planted = load_protocol(str(BY_NAME[name].plant(Path(mkdtemp()))), native=True)
    return planted, explore(planted, bounds, ONCE)


def test_false_sharing_is_replayed_with_its_delays(tmp_path: Path) -> None:
    planted, found = hunted("msi-upgrade-is-not-refreshed", Bounds())
    made = counterexample(found, planted)
    assert made.same and made.kind == "wrong-value" and made.difference == ""
    assert made.leg is not None and made.finding is not None
    network = made.leg.description.network
    assert network.delays == SCRIPTED and len(network.script or ()) > 5
    assert not verify(made.leg.program)
    save_leg(made.leg, tmp_path / "small.leg")
    assert load_leg(tmp_path / "small.leg").program.equals(made.leg.program)


def test_steps_stand_for_accesses_and_messages() -> None:
    """As the trace of 10 steps has it: a store of each cache, then a load; one invalidation's
    answer is under way at the end or none."""
    planted, found = hunted("msi-upgrade-is-not-refreshed", Bounds())
    assert found.finding is not None
    followed = follow(planted, found.system, found.rules, found.finding)
    first, *_, last = followed.accesses
    assert first.step == 0 and last.step == len(followed.steps) - 1
    assert [each.operation for each in followed.accesses] == ["store", "store", "load"]
    ends = [each.ended for each in followed.accesses]
    assert first.step < ends[0] < followed.accesses[1].ended <= last.step
    steps = sorted(s for found in followed.arrivals.values() for s in found if not is_never(s))
    wakes = sum(1 for step in followed.steps if step.choice.kind.name == "WAKE")
    assert steps == list(range(len(followed.steps) - wakes))


def test_a_protocol_without_the_bug_passes_and_says_where_it_differs() -> None:
    _, found = hunted("msi-upgrade-is-not-refreshed", Bounds())
    made = counterexample(found, protocol("MSI"))
    assert not made.same and made.kind == ""
    assert made.difference.startswith("the timed engine passes")


def test_another_error_is_not_the_same() -> None:
    """A trace that is cut off ends with what its bug leaves to happen, or with nothing."""
    planted, found = hunted("msi-upgrade-is-not-refreshed", Bounds())
    assert found.finding is not None
    cut = replace(found.finding, trace=found.finding.trace[:6], kind=FindingKind.DEADLOCK)
    made = counterexample(replace(found, finding=cut), planted)
    assert not made.same and "although every transition" in made.difference


def test_accesses_behind_the_trace_have_steps_of_their_own() -> None:
    planted, found = hunted("msi-upgrade-is-not-refreshed", Bounds())
    assert found.finding is not None
    followed = follow(planted, found.system, found.rules, found.finding)
    behind = Began(0, "store", 0, 10, 11)
    more = followed.continued((behind,), 2)
    assert more.accesses[-1] is behind
    added = {kept: steps for kept, steps in more.arrivals.items() if 10 in steps}
    assert [kept.channel for kept in added] == ["L1Cache0.mandatoryQueue"]


@pytest.mark.explore
@pytest.mark.parametrize("name", SAMPLE)
def test_both_engines_fail_as_the_exploration_did(name: str) -> None:
    bounds, kind, expected = SAMPLE[name]
    planted, found = hunted(name, bounds)
    assert found.conclusion is Conclusion.FOUND and found.finding is not None
    assert found.finding.kind is kind
    made = counterexample(found, planted)
    assert made.same and made.leg is not None and made.kind == expected
    engine = choose(Choice.native, planted, lambda words: None)
    try:
        run = Campaign(planted, Options(0, made.leg.program.episodes), engine).tried(made.leg)
        finding = run.outcome.finding
        assert finding is not None and kind_of(run, finding) == expected
    finally:
        engine.close()
