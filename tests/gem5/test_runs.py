"""gem5's protocols under the tester: both engines make the same runs, and the runs pass.

The descriptions of ``protocols/systems`` keep the protocols' known defects out of the way;
``SHOWN`` says what they show themselves by.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from protocols import SYSTEMS
from protocols.catalog import known_files
from protocols.compile_cache import generate
from protocols.known_defects import may_show
from protocols.loader import LoadedProtocol, load_protocol
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import load_description
from slicc.compiler import compile
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tests.gem5.checkout import DRIVERS
from tests.runtime.native.composed import compare_drawn
from tests.tester.native.equality import native_engine, run_in_python, run_natively

pytestmark = pytest.mark.gem5

DEADLOCK_LIMIT = 20_000
SEEDS = (1, 2, 3)


@cache
def loaded(driver: Path) -> LoadedProtocol:
    return load_protocol(str(driver), native=True)


def test_both_engines_make_the_same_run(driver: Path) -> None:
    protocol = loaded(driver)
    assert protocol.native is not None, protocol.why_not_native
    native = native_engine(protocol).native
    assert native is not None
    for seed in SEEDS:
        plan = Campaign(protocol, Options(seed, 60, leg_episodes=30)).plan(seed)
        python, _ = run_in_python(protocol, plan.leg)
        compiled, _ = run_natively(protocol, native, plan.leg)
        assert compiled == python, plan.summary.line
        assert not python.finding, f"seed {seed}, {plan.summary.line}: {python.finding}"


def test_composed_plans_have_the_words_of_built_systems(driver: Path) -> None:
    for seed in SEEDS:
        compare_drawn(loaded(driver), seed)


def test_the_known_defects_are_seen_in_the_tables(driver: Path) -> None:
    known = load_description(known_files(SYSTEMS)[driver.stem])
    assert loaded(driver).written.defects == known.defects
    assert not loaded(driver).note


def test_a_defect_stays_whatever_else_its_states_do(driver: Path) -> None:
    """An edit of a row beside its way brought it back, and it hid what the edit had broken."""
    front = generate(compile(driver), native=False)
    for defect in loaded(driver).written.defects:
        own = {tuple(text.split(".")[:3]) for text in defect.needs}
        assert own, defect.called
        assert may_show(defect, with_rows(front.info, own), front.bodies), defect.called
        for cell in own:
            assert not may_show(defect, with_rows(front.info, own - {cell}), front.bodies), cell


def with_rows(info: ProtocolInfo, cells: Collection[tuple[str, ...]]) -> ProtocolInfo:
    """The same machines, of whose transitions only these are left."""
    machines = tuple(
        type(
            kind.__name__,
            (kind,),
            {
                "TRANSITIONS": {
                    (state, event): row
                    for (state, event), row in kind.TRANSITIONS.items()
                    if (kind.MACHINE, kind.STATES.name_of(state), kind.EVENTS.name_of(event))
                    in cells
                }
            },
        )
        for kind in info.machines
    )
    return replace(info, machines=machines)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_ten_thousand_episodes(driver: Path, seed: int) -> None:
    protocol = loaded(driver)
    chosen = native_engine(protocol)
    campaign = Campaign(protocol, Options(seed, 10_000), chosen)
    number = 0
    while campaign.totals.episodes < campaign.options.episodes:
        plan = campaign.plan(number)
        _, finding = campaign.run_leg(plan.leg)
        assert finding is None, f"leg {number}: {plan.summary.line}\n{finding.headline}"
        number += 1


DRIVEN = {
    "MESI_Two_Level": ("L1Cache", "PF_IM", "Data_all_Acks"),
    "MOESI_CMP_token": ("Directory", "NO_DR", "Data_Owner"),
    "MOESI_hammer": ("Directory", "NO", "Pf_Replacement"),
}
"""Of prefetches, engines for DMA and a probe filter, which have defects, a transition."""


@pytest.mark.parametrize("name", DRIVEN)
def test_what_has_a_defect_is_driven_where_it_cannot_show(gem5_root: Path, name: str) -> None:
    protocol = loaded(gem5_root / DRIVERS[name])
    campaign = Campaign(protocol, Options(1, 5_000), native_engine(protocol))
    number = 0
    while campaign.totals.episodes < campaign.options.episodes:
        campaign.run_leg(campaign.plan(number).leg)
        number += 1
    machine, *cell = DRIVEN[name]
    assert tuple(cell) not in campaign.coverage.machines[machine].missed()


SHOWN: dict[str, tuple[str, ...]] = {
    "MI_example": ("stale-read", "from M_DRD on DMA_READ"),
    "MESI_Two_Level": ("is_valid(tbe)", "on CleanReplacement"),
    "MESI_Three_Level": ("is_valid(tbe)", "on CleanReplacement"),
    "MOESI_CMP_token": ("stale-read", "from NO_DR on Ack_Owner", "foreign-bytes"),
    "MOESI_hammer": ("is_valid(tbe)", "from NO_F on DMA_READ", "Sharers.isElement"),
    "MOESI_AMD_Base": ("on StaleWB", "recycle of empty", "foreign-bytes"),
    "GPU_VIPER": ("stale-read", "from M on Data", "on WriteThrough", "on L3Hit", "atomic log"),
}
"""Parts of the verdicts and headlines that the known defects of a protocol show themselves by."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_known_defects_are_real(gem5_root: Path, name: str) -> None:
    protocol = loaded(gem5_root / DRIVERS[name])
    options = Options(
        4, 1 << 20, deadlock_limit=DEADLOCK_LIMIT, leg_episodes=60, known_defects=True
    )
    campaign = Campaign(protocol, options, native_engine(protocol))
    missing = set(SHOWN[name])
    for number in range(160):
        _, finding = campaign.run_leg(campaign.plan(number).leg)
        if finding is not None:
            said = f"{finding.verdict.value}: {finding.headline}"
            missing -= {words for words in missing if words in said}
        if not missing:
            return
    pytest.fail(f"160 legs do not show {', '.join(sorted(missing))}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MESI_Two_Level", "MESI_Three_Level"])
def test_loads_of_one_port_share_a_stale_answer(gem5_root: Path, name: str) -> None:
    protocol = loaded(gem5_root / DRIVERS[name])
    shared = {"processor_threads": 3, "units": 4, "peek_percent": 100, "delays": "stragglers"}
    defect = "load-overtaken-by-invalidation"
    for attack, kinds in (((), {""}), ((defect,), {"", "wrong-value"})):
        options = Options(
            1,
            1 << 20,
            "line-duel",
            fixed={**shared, "instruction_percent": 50},
            leg_episodes=60,
            assignments={"agents.cpu.without": ("ahead", "conditional")},
            attack=attack,
        )
        campaign = Campaign(protocol, options, native_engine(protocol))
        legs = [campaign.plan(number).leg for number in range(500)]
        assert set(campaign.failures_of(legs)) == kinds


ONE_MESSAGE_A_CYCLE = {
    "MI_example": "recycled-requests-come-first",
    "MESI_Two_Level": "recycled-requests-come-first",
    "MESI_Three_Level": "recycled-requests-come-first",
    "MESI_Three_Level_HTM": "recycled-requests-come-first",
    "CHI": "answered-before-awaited",
}
"""What shows where controllers take one message a cycle."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_MESSAGE_A_CYCLE)
def test_slow_controllers(gem5_root: Path, name: str) -> None:
    protocol = loaded(gem5_root / DRIVERS[name])
    shown = {"panic" if name == "CHI" else "runaway"}
    for attack, kinds in (((), set()), ((ONE_MESSAGE_A_CYCLE[name],), shown)):
        options = Options(2, 1 << 20, "coherence", fixed={"transitions": 1}, attack=attack)
        campaign = Campaign(protocol, options, native_engine(protocol))
        legs = [campaign.plan(number).leg for number in range(100)]
        assert {kind.split()[0] for kind in campaign.failures_of(legs) if kind} == kinds
