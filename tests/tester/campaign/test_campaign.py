"""Runs as a whole, on the shipped protocol of two machines: drawn, repeated, counted, explained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, ProtocolMissing, load_protocol, locate, shipped
from runtime.system.builder import build_system
from slicc.coverage.file import SCHEMA, write_cells
from tester.campaign.campaign import Campaign, Totals, leg_run
from tester.campaign.coverage import Coverage
from tester.campaign.drawing.options import Options
from tester.diagnosis.failure_report import render
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.events import Verdict
from tester.program.replay_file import load_leg, save_leg
from tests.sampling import sampled

PROTOCOLS = Path(__file__).parents[3] / "protocols"


@pytest.fixture(scope="module")
def mi() -> LoadedProtocol:
    return load_protocol("MI")


def run(protocol: LoadedProtocol, **options: object) -> Campaign:
    """All legs of a campaign that must pass."""
    given = {"seed": 4, "episodes": 150, **options}
    campaign = Campaign(protocol, Options(**given))  # type: ignore[arg-type]
    number = 0
    while campaign.totals.episodes < campaign.options.episodes:
        _, finding = campaign.run_leg(campaign.plan(number).leg)
        assert finding is None, finding.headline
        number += 1
    return campaign


def test_episodes_are_counted_exactly(mi: LoadedProtocol) -> None:
    campaign = run(mi, episodes=130, leg_episodes=50)
    assert campaign.totals.episodes == 130
    assert campaign.totals.legs == 3


def test_same_seed_same_run(mi: LoadedProtocol) -> None:
    first, second, other = (run(mi, seed=seed, episodes=60) for seed in (4, 4, 5))
    assert first.totals == second.totals
    assert first.coverage == second.coverage
    assert first.totals != other.totals


def test_legs_that_are_drawn_and_run_in_advance_are_those_of_their_turn() -> None:
    protocol = load_protocol("MI", native=True)
    engine = choose(Choice.native, protocol, print)
    campaign = Campaign(protocol, Options(4, 900), engine)
    totals, coverage = Totals(), Coverage(protocol.identity.name)
    drawn = run = 0
    for plan in campaign.plans():
        alone, leg = Campaign(protocol, campaign.options, engine), plan.leg
        alone.totals.episodes = totals.episodes
        other = alone.plan(leg.number).leg
        assert leg.program.equals(other.program) and leg.description == other.description
        assert (leg.first_episode, leg.seed) == (other.first_episode, other.seed)
        drawn += bool(campaign._ahead)
        campaign.run_leg(leg)
        run += bool(campaign._ended)
        alone.totals = Totals()
        alone.run_leg(other)
        totals.merge(alone.totals)
        coverage.merge(alone.coverage)
        assert (campaign.totals, campaign.coverage) == (totals, coverage)
    assert drawn > 1 and run > 1
    assert totals.episodes == 900


def test_legs_in_advance_are_drawn_again_behind_one_that_was_cut_short() -> None:
    protocol = load_protocol("MI", native=True)
    campaign = Campaign(protocol, Options(4, 10_000), choose(Choice.native, protocol, print))
    for number in range(4):
        campaign.run_leg(campaign.plan(number).leg)
    assert campaign._ahead
    campaign.totals.episodes -= 1
    assert campaign.plan(4).leg.first_episode == campaign.totals.episodes
    assert not campaign._ahead


@pytest.mark.parametrize("seed", sampled([1, 2], 2))
def test_most_wavefronts_are_live_on_the_default_system(seed: int) -> None:
    """As many as GPU_VIPER.toml has, on average over the ticks of a run of the real system."""
    viper = load_protocol("GPU_VIPER")
    units, group = viper.description.machines["TCP"].count, viper.description.agents["gpu"]
    shape = {"units": units, "wavefronts": group.wavefronts, "lanes": group.lanes}
    fixed = {**shape, "dmas": 0, "fetchers": 0, "delays": "uniform"}
    fixed["chase_percent"] = 0
    options = Options(seed, 160, "coherence", fixed, leg_episodes=160)
    leg = Campaign(viper, options).plan(0).leg
    outcome = leg_run(leg, build_system(viper.info, leg.description, leg.run_key)).run_episodes()
    assert outcome.finding is None
    assert units is not None
    assert outcome.concurrency.mean_live >= 0.6 * units * group.wavefronts


def test_coverage_counts_what_ran(mi: LoadedProtocol, tmp_path: Path) -> None:
    campaign = run(mi)
    path = tmp_path / "coverage.json"
    write_cells(campaign.coverage.cells("0" * 16, {}), path)
    data = json.loads(path.read_text())
    assert (data["schema"], data["protocol"]) == (SCHEMA, "MI")
    cache = data["machines"]["L1Cache"]
    cells = [count for row in cache["counts"].values() for count in row.values()]
    assert len(cells) == cache["defined"]
    assert sum(count > 0 for count in cells) == cache["hit"] > 5
    total = sum(
        count
        for machine in data["machines"].values()
        for row in machine["counts"].values()
        for count in row.values()
    )
    assert total == campaign.transitions > 1000
    assert cache["counts"]["I"]["Load"] > 0
    for name, machine in campaign.coverage.machines.items():
        counts = data["machines"][name]
        assert len(machine.missed()) == counts["defined"] - counts["hit"]


# ------------------------------------------------------------------ planted bugs

BUGS = {
    "fill without data": (
        "transition(IM, Data, M) {\n    u_writeDataToFrame;",
        "transition(IM, Data, M) {",
        {Verdict.ATOMIC_FOREIGN, Verdict.FOREIGN_BYTES},
    ),
    "no wake-up after a fill": (
        "x_loadMissDone;\n    n_popResponse;\n    k_wakeWaiting;",
        "x_loadMissDone;\n    n_popResponse;",
        {Verdict.HANG},
    ),
    "two owners": (
        "transition(M, Fwd_GETX, I) {\n    d_sendDataFromCache;\n    j_freeFrame;",
        "transition(M, Fwd_GETX) {\n    d_sendDataFromCache;",
        {Verdict.ATOMIC_REPEATED, Verdict.STALE_READ},
    ),
    "missing pair": (
        "transition({IS, IM}, Fwd_GETX) {",
        "transition(IS, Fwd_GETX) {",
        {Verdict.UNDEFINED_TRANSITION},
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found_explained_and_repeated(bug: str, tmp_path: Path) -> None:
    before, after, verdicts = BUGS[bug]
    for path in PROTOCOLS.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    cache = tmp_path / "MI-cache.sm"
    text = cache.read_text()
    assert before in text
    cache.write_text(text.replace(before, after))
    protocol = load_protocol(str(tmp_path / "MI.slicc"))
    campaign = Campaign(protocol, Options(1, 1000, version="test"))
    number, finding = 0, None
    while finding is None and campaign.totals.episodes < 1000:
        leg = campaign.plan(number).leg
        first, finding = campaign.run_leg(leg)
        number += 1
    assert finding is not None
    assert finding.verdict in verdicts

    failure = campaign.explain(leg, first, finding)
    assert failure.repeated
    report = render(failure)
    assert "MI-cache.sm:" in report
    assert f"seed 1, leg {leg.number}" in report

    save_leg(leg, tmp_path / "failed.leg")
    loaded = load_leg(tmp_path / "failed.leg")
    assert loaded.program.equals(leg.program)
    _, again = Campaign(protocol, Options(9, 1)).run_leg(loaded)
    assert again is not None
    assert (again.verdict, again.tick) == (finding.verdict, finding.tick)


# ------------------------------------------------------------------ which protocol


def test_shipped_protocols_are_found_by_name() -> None:
    assert "MI" in shipped()
    assert locate("MI") == (shipped()["MI"], True)


def test_a_slip_in_a_name_is_explained() -> None:
    with pytest.raises(ProtocolMissing, match="did you mean MI"):
        locate("mi")
    with pytest.raises(ProtocolMissing, match=r"protocol file no/such\.slicc does not exist"):
        locate("no/such.slicc")


def test_a_protocol_without_a_port(tmp_path: Path) -> None:
    for path in PROTOCOLS.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    (tmp_path / "MI.slicc").write_text(
        'protocol "Portless";\ninclude "MI-msg.sm";\ninclude "MI-dir.sm";\n'
    )
    (tmp_path / "MI.toml").unlink()
    with pytest.raises(ProtocolMissing, match="no port to drive"):
        load_protocol(str(tmp_path / "MI.slicc"))
