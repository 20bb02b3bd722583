"""Looking behind a failure: the least whose omission makes failing legs pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import load_protocol
from tester.campaign.campaign import Campaign, kind_of
from tester.campaign.drawing.options import Options
from tester.campaign.left_out import (
    FEW,
    UNJUDGED,
    LeftOut,
    Rounds,
    alike,
    behind,
    least,
    least_together,
)
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.program.replay_file import Leg
from tests.planted.bugs import BY_NAME

PROGRAMS = (
    *("peek_percent", "scope_percent", "quiet_percent", "flush_percent", "bare_percent"),
    *("instruction_percent", "unaligned_percent", "atomic_percent"),
)


def failing(campaign: Campaign) -> tuple[list[int], str]:
    """The legs that fail as the first one does."""
    legs: list[tuple[int, str]] = []
    for number, plan in enumerate(campaign.plans()):
        run, finding = campaign.run_leg(plan.leg)
        if finding is not None:
            if not legs:
                assert alike(campaign.failure_of(plan.leg), kind_of(run, finding))
            legs.append((number, kind_of(run, finding)))
    if not legs:
        return [], ""
    return [number for number, kind in legs if kind == legs[0][1]], legs[0][1]


def native(name: str, options: Options, system: Path | None = None) -> Campaign:
    protocol = load_protocol(name, system=system, native=True)
    return Campaign(protocol, options, choose(Choice.native, protocol, lambda _: None))


def broken(bug: str, directory: Path, options: Options) -> Campaign:
    return native(str(BY_NAME[bug].plant(directory)), options)


def small(bug: str, directory: Path, options: Options) -> Campaign:
    """On the Python engine, which has run a few short legs before anything is compiled."""
    return Campaign(load_protocol(str(BY_NAME[bug].plant(directory))), options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "expected", "fixed"),
    [
        ("mi-dma-read-leaves-a-transaction", "loads by dma", {}),
        ("mi-dma-write-not-merged", "stores by dma", {}),
        ("msi-reservation-outlives-lost-race", "load-linked and far atomics", {"atomics": "line"}),
    ],
)
def test_the_least_that_a_fault_needs(
    bug: str, expected: str, fixed: dict[str, object], tmp_path: Path
) -> None:
    finds_the_least(broken(bug, tmp_path, Options(1, 2000)), expected, fixed)


def test_the_least_that_a_fault_needs_is_found_by_a_few_short_legs(tmp_path: Path) -> None:
    fixed = dict.fromkeys(PROGRAMS, 0)  # what is fixed is not tried
    options = Options(1, 96, fixed=fixed, leg_episodes=12)
    campaign = small("mi-dma-read-leaves-a-transaction", tmp_path, options)
    finds_the_least(campaign, "loads by dma", {})


def finds_the_least(campaign: Campaign, expected: str, fixed: dict[str, object]) -> None:
    """And without that all legs pass."""
    found = least(campaign, *failing(campaign))
    assert found is not None
    assert (found.what, found.fixed) == (expected, fixed)
    without = Campaign(campaign.protocol, found.of(campaign.options), campaign.engine)
    assert all(without.run_leg(plan.leg)[1] is None for plan in without.plans())


def test_a_variant_is_left_out(tmp_path: Path) -> None:
    """Too short a time until a hang, as if that variant never ended."""
    system = tmp_path / "MI.toml"
    slow = '"machine.Directory.parameters.directory_latency" = 100000'
    system.write_text(f'[[variant]]\nof = "directory"\nname = "stuck"\n[variant.set]\n{slow}\n')
    options = Options(1, 240, leg_episodes=20, deadlock_limit=50_000)
    campaign = native("MI", options, system)
    numbers, kind = failing(campaign)
    assert kind == "hang"
    found = least(campaign, numbers, kind)
    assert found == LeftOut("stuck directory", variants=frozenset({"stuck directory"}))


def test_what_every_leg_needs_cannot_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of legs that fail whatever is left out nothing is; all that could be was tried."""
    tried: list[Leg] = []

    def failure_of(_: Campaign, leg: Leg, __: object = None) -> str:
        tried.append(leg)
        return "hang"

    monkeypatch.setattr(Campaign, "failure_of", failure_of)
    campaign = Campaign(load_protocol("MI"), Options(1, 400, leg_episodes=9))
    assert least(campaign, range(8), "hang") is None
    assert len(tried) > 8 and any("dma" not in leg.description.agents for leg in tried)


@pytest.mark.slow
def test_what_the_user_fixed_stays(tmp_path: Path) -> None:
    options = Options(1, 1500, fixed={"atomics": "linked"})
    campaign = broken("msi-reservation-outlives-lost-race", tmp_path, options)
    numbers, kind = failing(campaign)
    assert len(numbers) >= FEW
    found = least(campaign, numbers, kind)
    assert found is None or "atomics" not in found.fixed


def test_few_legs_or_a_runaway_are_not_tried() -> None:
    campaign = Campaign(load_protocol("MI"), Options(1, 400))
    assert least(campaign, [0, 1], "hang") is None
    for kind in ("runaway", "runaway L1Cache.I.Load"):
        assert least(campaign, range(8), kind) is None


@pytest.mark.slow
def test_one_thing_may_be_behind_several_kinds(tmp_path: Path) -> None:
    campaign = broken("mi-dma-read-leaves-a-transaction", tmp_path, Options(1, 800))
    numbers, kind = failing(campaign)
    found = behind(campaign, {kind: numbers[::2], f"{kind} again": numbers[1::2]})
    assert [each.what for each in found] == ["loads by dma"]


def test_few_failing_legs_are_joined_by_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every sixth leg with engines for DMA fails, and a short campaign has one of them."""

    def failure_of(_: Campaign, leg: Leg, __: object = None) -> str:
        return "hang" if "dma" in leg.description.agents and leg.number % 6 == alone else ""

    alone = -1
    monkeypatch.setattr(Campaign, "failure_of", failure_of)
    campaign = Campaign(load_protocol("MI"), Options(1, 400, leg_episodes=9))
    alone = next(n for n in range(6) if "dma" in campaign.plan(n).leg.description.agents)
    assert least(campaign, [alone], "hang") is None
    assert [each.what for each in behind(campaign, {"hang": [alone]})] == ["agents on DMA"]


def test_after_wrong_values_they_are_checked_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(1, 60, leg_episodes=6)
    campaign = small("mi-dma-write-not-merged", tmp_path, options)
    numbers, kind = failing(campaign)
    monkeypatch.setattr("tester.campaign.left_out.behind", lambda *_: [])
    hung = Rounds()
    assert hung.next(campaign, {"hang": numbers}) == []
    rounds = Rounds()
    assert rounds.next(campaign, {kind: numbers}) == [UNJUDGED]
    assert rounds.left_out == (UNJUDGED,)
    unchecked = Campaign(campaign.protocol, UNJUDGED.of(options), campaign.engine)
    assert failing(unchecked) == ([], "")
    assert rounds.next(unchecked, {}) == []


def test_two_faults_that_look_alike_need_a_thing_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of legs with engines for DMA half fail, of the other half those with several directories."""

    def failure_of(_: Campaign, leg: Leg, __: object = None) -> str:
        if leg.number % 2:
            return "wrong-value" if "dma" in leg.description.agents else ""
        several = (leg.description.machines["Directory"].count or 0) > 1
        return "lost-write" if several or not whole else ""

    whole = True
    monkeypatch.setattr(Campaign, "failure_of", failure_of)
    fixed = dict.fromkeys((*PROGRAMS, "entries"), 0)  # what is fixed is not tried
    campaign = native("MI", Options(1, 400, fixed=fixed, leg_episodes=9))
    numbers = [n for n in range(16) if campaign.failure_of(campaign.plan(n).leg)]
    assert {number % 2 for number in numbers} == {0, 1}
    assert least(campaign, numbers, "wrong-value") is None
    found = least_together(campaign, numbers, "wrong-value")
    assert {each.what for each in found} == {"agents on DMA", "more than one directory"}
    assert [each.what for each in behind(campaign, {"wrong-value": numbers})] == [
        each.what for each in found
    ]
    whole = False  # now half of the legs fail whatever is left out
    assert least_together(campaign, numbers, "wrong-value") == []
