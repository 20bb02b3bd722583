"""Racy scenarios decided over all runs: exactly what the model allows, and what a bug makes
possible."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from runtime.native.system import ChoiceKind
from slicc.scenario_text.conditions import Model
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import parse_scenario, read_scenario
from slicc.scenario_text.syntax import Scenario
from slicc.source import SourceFile
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.errors import ConfigError
from tester.exploration.native_search import Rules, SearchStatistics
from tester.exploration.native_words import FindingKind
from tester.exploration.report import Namer
from tester.litmus.binding import bind
from tester.litmus.every_run import EveryRun, as_lines, explore_scenario
from tester.litmus.script import script_of
from tester.litmus.series import run_series
from tester.litmus.shipped import shipped_folder
from tests.planted.bugs import BUGS
from tests.sampling import sampled
from tests.tester.exploration.systems import STARVES, protocol
from tests.tester.scenarios import native_engine

SMALL = Rules(most_states=400_000)
BY_NAME = {bug.name: bug for bug in BUGS}
TWO_THREADS = ("2+2W", "CoRR", "CoRW", "CoWR", "MP", "MP+line", "R", "S", "SB", "SB+line")

ATOMIC = ("ADD", "CAS", "MP+atomic", "SB+exchange")
LARGE = ("2+2W", "MP", "R", "S", "MP+atomic", "SB+exchange")
"""More than SMALL.most_states on MESI_Two_Level."""


@cache
def explored(
    name: str,
    model: Model = Model.sc,
    of: str = "MSI",
    assignments: tuple[tuple[str, object], ...] = (),
) -> EveryRun:
    scenario = read_scenario(shipped_folder("litmus") / f"{name}.litmus")
    tso = model is Model.tso
    script = script_of(scenario, protocol(of), assignments, overlap=tso, prepares=True)
    return explore_scenario(script, model, SMALL)


def parsed(text: str) -> Scenario:
    return parse_scenario(SourceFile("s.litmus", text))


def seen(found: EveryRun) -> set[tuple[int, ...]]:
    return {found.judge.values(each.outcome) for each in found.endings}


@pytest.mark.parametrize("name", (*TWO_THREADS, *ATOMIC))
def test_a_coherent_protocol_ends_exactly_as_sc_allows(name: str) -> None:
    found = explored(name)
    assert found.whole and not found.failed
    assert found.judge.allowed is not None and seen(found) == found.judge.allowed


@pytest.mark.parametrize("name", ["ADD", "CAS"])
def test_reservations_end_as_operations_at_once_do(name: str) -> None:
    found = explored(name, assignments=(("requester.cpu.atomics", "linked"),))
    assert found.whole and not found.failed and seen(found) == found.judge.allowed
    assert found.statistics.states > explored(name).statistics.states


def test_operations_act_on_values() -> None:
    """A sum, a maximum and a comparison that fails have different results."""
    rows = (
        "store x = 5 | atomic max x 3 -> r0 | atomic add x 2 -> r1\n | atomic cas x 9 if 7 -> r2 |"
    )
    text = f'scenario "s"\n\nP0 | P1 | P2\n{rows}\n\nexists x = 9 and P1:r0 = 0\n'
    script = script_of(parsed(text), protocol("MI"), (), overlap=False, prepares=False)
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.whole and not found.failed and seen(found) == found.judge.allowed


SIZES = (
    "store x = 0x0102030405060708 (8 bytes) | load x+3 -> r0 (2 bytes)\n | load x -> r1 (1 byte)",
    "store x+1 = 0x0102 (2 bytes) | store x = 0x03040506\nload x -> r0 | load x+2 -> r1 (1 byte)",
    "atomic xor x 5 -> r0 | store x+1 = 7 (1 byte)\natomic sub x 6 -> r1 |",
    "store x+5 = 9 (2 bytes) | load x+4 -> r0\n | load x+6 -> r1 (1 byte)",
)
"""Accesses of 1 to 8 bytes that overlap, and values that wrap around."""


@pytest.mark.parametrize("of", ["MSI", "MI"])
@pytest.mark.parametrize("rows", SIZES)
def test_sizes_that_overlap_end_exactly_as_sc_allows(of: str, rows: str) -> None:
    text = f'scenario "s"\n\nP0 | P1\n{rows}\n\nexists x = 0\n'
    script = script_of(parsed(text), protocol(of), (), overlap=False, prepares=True)
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.whole and not found.failed
    assert found.judge.allowed is not None and seen(found) == found.judge.allowed


ENGINES = (
    "store x = 0x0102030405060708 (8 bytes) | load x+3 -> r0 (2 bytes)\n | load x+2 -> r1",
    "load x -> r0 (8 bytes) | store x+3 = 258 (2 bytes)\nload x -> r1 | store x = 5",
)


@pytest.mark.parametrize("rows", ENGINES)
def test_runs_with_an_engine_end_as_some_explored_one_does(rows: str) -> None:
    """What many timed runs end with is among what all runs end with."""
    scenario = parsed(f'scenario "s"\n\nP0 | dma0\n{rows}\n\nexists x = 0\n')
    script = script_of(scenario, protocol("MI"), (), overlap=False, prepares=True)
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.whole and found.judge.allowed is None
    engine = native_engine("MI")
    campaign = Campaign(protocol("MI"), Options(1, 1), engine)
    runs = run_series(bind(scenario, protocol("MI")), engine, campaign, 60, 1, Model.sc)
    assert runs.failed is None and len(runs.seen) > 1
    assert set(runs.seen) <= seen(found)


@pytest.mark.parametrize("of", sampled(["MI", "MSI"], 2))
def test_overtaking_loads_make_possible_what_tso_allows_besides(of: str) -> None:
    in_order, overtaking = explored("SB", of=of), explored("SB", Model.tso, of)
    assert overtaking.whole and seen(overtaking) == overtaking.judge.allowed
    assert seen(in_order) < seen(overtaking)
    namer = Namer(protocol(of), overtaking.script.system)
    lines = list(as_lines("SB", overtaking, namer))
    assert lines[0].startswith("EXHAUSTED SB: store buffering")
    assert any(line.endswith(": happens") for line in lines)
    (never,) = (line for line in as_lines("SB", in_order, namer) if "forbidden" in line)
    assert never.endswith("never, in every run")


def test_what_must_not_be_is_shown_by_a_run() -> None:
    """Processors whose loads overtake their stores are not SC."""
    script = script_of(
        read_scenario(shipped_folder("litmus") / "SB.litmus"),
        *(protocol("MSI"), ()),
        overlap=True,
        prepares=False,
    )
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.whole and found.failed
    (wrong,) = (each for each in found.endings if each.objections)
    assert "forbidden by sc" in wrong.objections and wrong.objections[1].startswith("refused")
    begun = [step.choice for step in wrong.trace if step.choice.kind is ChoiceKind.ISSUE]
    assert len(begun) == 6  # of the threads, and what is read at the end
    lines = list(as_lines("SB", found, Namer(protocol("MSI"), script.system)))
    assert (
        lines[0].startswith("FOUND") and sum("<-- forbidden by sc" in line for line in lines) == 1
    )
    assert sum(line.endswith(" loads line 0a") for line in lines) == 2


def test_a_fault_of_the_protocol_ends_the_search(tmp_path: Path) -> None:
    bug = BY_NAME["msi-upgrade-is-not-refreshed"]
    planted = load_protocol(str(bug.plant(tmp_path)), native=True)
    scenario = read_scenario(shipped_folder("litmus") / "MP+line.litmus")
    script = script_of(scenario, planted, (), overlap=False, prepares=True)
    found = explore_scenario(script, Model.sc, SMALL)
    lines = list(as_lines("MP+line", found, Namer(planted, script.system)))
    assert found.failed and any("beforehand" in line for line in lines)


def test_programs_that_need_not_end_are_found(tmp_path: Path) -> None:
    """A load behind the other's store never ends, one before it does."""
    planted = load_protocol(str(STARVES.plant(tmp_path)), native=True)
    text = 'scenario "s"\n\nP0 | P1\nload x -> r0 | store x = 1\n\nforbidden P0:r0 = 7\n'
    script = script_of(parsed(text), planted, (), overlap=False, prepares=False)
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.failed and found.finding is not None
    assert found.finding.kind is FindingKind.NO_COMPLETION and found.endings
    _, *lines = as_lines("s", found, Namer(planted, script.system))
    assert any("no run from there completes any" in line for line in lines)
    assert explored("MP").completion_judged


def test_without_preparation_nothing_is_in_caches_beforehand() -> None:
    scenario = read_scenario(shipped_folder("litmus") / "CoRR.litmus")
    script = script_of(scenario, protocol("MSI"), (), overlap=False, prepares=False)
    found = explore_scenario(script, Model.sc, SMALL)
    assert found.whole and found.statistics.states < explored("CoRR").statistics.states


def test_what_was_not_explored_is_not_called_never() -> None:
    script = explored("MP").script
    found = explore_scenario(script, Model.sc, Rules(most_states=1000))
    assert not found.whole and not found.failed
    lines = list(as_lines("MP", found, Namer(protocol("MSI"), script.system)))
    assert lines[0].startswith("LIMIT") and any(line.endswith("never so far") for line in lines)


def test_what_was_seen_before_an_interruption_is_reported() -> None:
    def interrupt(statistics: SearchStatistics) -> None:
        raise KeyboardInterrupt

    script = explored("MP").script
    found = explore_scenario(script, Model.sc, SMALL, interrupt)
    assert isinstance(found.interruption, KeyboardInterrupt) and not found.whole
    first = next(iter(as_lines("MP", found, Namer(protocol("MSI"), script.system))))
    assert first.startswith("LIMIT") and f"{found.statistics.states:,} states" in first


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("store x+13 = 1 | load x -> r1", "reaches 17 bytes into a line"),
        ("store x = 1 (16 bytes) | load x -> r1", "more than 8 bytes"),
        ("load x -> r2 instruction | load x -> r1", "no scopes, fetches"),
        (
            "begin |\nstore x = 1 |\nstore x+4 = 1 |\nend |\n| load x -> r1",
            r"cpu0 has several operations under way at once",
        ),
    ],
)
def test_what_cannot_be_explored_is_refused(rows: str, message: str) -> None:
    text = f'scenario "s"\n\nP0 | P1\n{rows}\n\nexists P1:r1 = 0\n'
    with pytest.raises(ConfigError, match=message):
        script_of(
            parsed(text),
            protocol("MESI_Two_Level"),
            (),
            overlap=False,
            prepares=True,
        )


def test_headings_are_heeded() -> None:
    """A set cache of one frame has room for one of two lines."""
    rows = "P0 | P1\nstore x = 1 | load y -> r0\nload y -> r1 |\n\nexists P1:r0 = 1\n"
    ways = "set machine.L1Cache.cache.cacheMemory.ways = 1"

    def states(headings: str) -> int:
        text = parsed(f'scenario "s"\n{headings}\n\n{rows}')
        script = script_of(text, protocol("MSI"), (), overlap=False, prepares=False)
        return explore_scenario(script, Model.sc, SMALL).statistics.states

    assert states(ways) > states("")
    with pytest.raises(ScenarioError, match="the scenario is for MI, the protocol is MSI"):
        states("protocol MI")
    kernels = 'scenario "k"\nmodel hsa\n\nP0 @ group 0 | P1\nstore x = 1 | load x -> r0\n\n'
    with pytest.raises(ScenarioError, match="a test of kernels"):
        script_of(
            parsed(kernels + "exists P1:r0 = 1\n"),
            *(protocol("MSI"), ()),
            overlap=False,
            prepares=False,
        )


def test_a_race_without_conditions_is_said_to_be_one() -> None:
    text = parsed('scenario "s"\n\nP0 | P1\nstore x = 1 | store x = 2\n')
    with pytest.raises(ScenarioError, match="race"):
        script_of(text, protocol("MSI"), (), overlap=False, prepares=False)


def test_a_scenario_without_conditions_is_refused() -> None:
    text = 'scenario "s"\n\nP0 | P1\nstore x = 1 |\n'
    with pytest.raises(ConfigError, match="without conditions"):
        script_of(
            parsed(text),
            protocol("MSI"),
            (),
            overlap=False,
            prepares=True,
        )


@pytest.mark.explore
@pytest.mark.parametrize(
    ("of", "name"),
    [
        *(("MI", name) for name in (*TWO_THREADS, *ATOMIC)),
        *(("MESI_Two_Level", name) for name in (*TWO_THREADS, *ATOMIC) if name not in LARGE),
    ],
)
def test_other_protocols_end_as_sc_allows(of: str, name: str) -> None:
    found = explored(name, Model.sc, of)
    assert found.whole and not found.failed and seen(found) == found.judge.allowed
