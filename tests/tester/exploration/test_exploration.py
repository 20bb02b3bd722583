"""What explorations find, and what they say where they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tester
from protocols.loader import LoadedProtocol, load_protocol
from tester.errors import ConfigError
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.native_search import Rules
from tester.exploration.native_words import FindingKind, SearchEnd
from tester.exploration.report import (
    Namer,
    cell_lines,
    omission_probability,
    system_lines,
    trace_lines,
    verdict_line,
)
from tester.exploration.small_system import Bounds, small_system
from tester.profiles.machine_roles import find_roles
from tests.compiling import CHECKED, ROOT
from tests.measured_times import with_times
from tests.planted.bug import HANG, Bug, BugClass, Edit
from tests.planted.bugs import BUGS
from tests.tester.exploration.systems import SMALL, hunted, opened, protocol, searched

NEVER_WAKES = Bug(
    "msi-new-owner-wakes-nothing",
    BugClass.LOST_COMPLETION,
    "MSI-dir.sm",
    "What waits for a line of a new owner is never tried again.",
    (
        Edit(
            "transition(M_m, MemData, M) {\n    sd_sendData;\n    qm_popMemQueue;\n"
            "    kw_wakeWaiting;\n",
            "transition(M_m, MemData, M) {\n    sd_sendData;\n    qm_popMemQueue;\n",
        ),
    ),
    HANG,
)
WHOLE = ("MI", "MSI")
"""Protocols of which every planted bug that can be expressed is found."""
MESI = (
    "mesi-reader-keeps-the-line",
    "mesi-owner-goes-on-writing",
    "mesi-first-store-stays-clean",
    "mesi-victim-without-data",
    "mesi-early-answer-is-not-counted",
    "mesi-writer-does-not-wait-for-readers",
    "mesi-lost-upgrade-is-not-noticed",
    "mesi-eviction-wakes-nothing",
    "mesi-giving-up-leaves-a-transaction",
    "mesi-last-owner-is-no-reader",
    "mesi-shared-line-stays-old",
    "mesi-upgrade-of-a-line-that-is-gone",
    "mesi-written-victim-is-dropped",
)
INEXPRESSIBLE = {
    "msi-counts-readers-to-eight": "needs nine caches",
    "mi-dma-long-write-is-cut": "accesses have 4 bytes",
    "mi-order-is-dropped-without-room": "needs limited buffers",
    "msi-replaced-copy-is-not-reported": "needs a load ahead of another one",
}
LINKED = Bounds(operations=("load", "store", "atomic"), locations=1)
ONCE = Rules(most_states=700_000, bound=1 << 16)
"""One search without smaller bounds after it."""
GPU_RULES = Rules(most_states=1_000_000, bound=1 << 16)
BY_NAME = {bug.name: bug for bug in BUGS}


def test_false_sharing_needs_two_locations_of_a_line(tmp_path: Path) -> None:
    """A store of the whole line hides that the line was not fetched again."""
    bug = BY_NAME["msi-upgrade-is-not-refreshed"]
    assert hunted(bug, tmp_path, Bounds(locations=1)).conclusion is Conclusion.EXHAUSTED


def test_the_trace_is_a_shortest_one_of_one_system(tmp_path: Path) -> None:
    bug = BY_NAME["msi-upgrade-is-not-refreshed"]
    found = hunted(bug, tmp_path, Bounds())
    finding = found.finding
    assert finding is not None and finding.kind is FindingKind.VALUE
    namer = Namer(protocol("MSI"), found.system)
    text = list(trace_lines(finding, namer))
    assert text[0].endswith(("stores line 0a", "stores line 0b", "loads line 0a", "loads line 0b"))
    assert len(finding.trace) == found.statistics.depth + 1
    word, verdict = verdict_line(found, namer)
    assert word == "FOUND" and f"after {len(finding.trace)} steps" in verdict


def test_a_limit_says_how_far_everything_was_explored() -> None:
    found = searched("MSI", Bounds(lines=2, locations=1), Rules(most_states=2_000))
    assert (found.conclusion, found.end) == (Conclusion.LIMIT, SearchEnd.FULL)
    assert found.complete_bound is not None
    word, text = verdict_line(found, Namer(protocol("MSI"), found.system))
    assert word == "LIMIT" and f"while {found.complete_bound} messages are under way" in text


def test_a_limit_promises_no_run_that_was_not_judged(tmp_path: Path) -> None:
    """States in which nothing moves any more are judged a level later than steps."""
    stuck = hunted(NEVER_WAKES, tmp_path, Bounds(locations=1))
    assert stuck.finding is not None and stuck.finding.kind is FindingKind.DEADLOCK
    steps, states = len(stuck.finding.trace), stuck.statistics.states
    promised = []
    for most in range(states - 9, states + 1):
        found = hunted(NEVER_WAKES, tmp_path, Bounds(locations=1), Rules(1000, most))
        if found.conclusion is Conclusion.LIMIT:
            _, text = verdict_line(found, Namer(protocol("MSI"), found.system))
            promised.append(int(text.split("every run of at most ")[1].split()[0]))
    assert promised and max(promised) == steps - 1


def test_the_first_state_counts(tmp_path: Path) -> None:
    found = searched("MSI", Bounds(locations=1), Rules(most_states=1))
    assert (found.end, found.statistics.states) == (SearchEnd.FULL, 1)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(lines=8), "8 lines with 2 locations each are 16, of at most 8"),
        (Bounds(caches=5, agents=2), "10 agents, of 1 to 8"),
        (Bounds(operations=("acquire",)), "--ops acquire: no agent of MSI can do that"),
        (
            Bounds(assignments=(("machine.Directory.buffer.responseFromMemory.capacity", 2),)),
            "buffer Directory0.responseFromMemory is limited",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(bounds: Bounds, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        searched("MSI", bounds)


def test_requests_to_memory_may_be_limited() -> None:
    """The second request waits until memory takes the first one: nothing else can happen then."""
    limit = (("machine.Directory.buffer.requestToMemory.capacity", 1),)
    bounds = Bounds(lines=2, locations=1, operations=("store",))
    rules = replace(SMALL, local_steps=False)
    free = searched("MSI", bounds, rules)
    limited = searched("MSI", replace(bounds, assignments=limit), rules)
    assert free.conclusion is limited.conclusion is Conclusion.EXHAUSTED
    assert free.cells == limited.cells
    assert limited.statistics.states < free.statistics.states


PREFETCHER = Bug(
    "msi-with-a-prefetcher",
    BugClass.LEAK,
    "MSI-cache.sm",
    "None: a prefetcher stands there, which is asked only if a parameter says so.",
    (
        Edit(
            "    Sequencer * sequencer;\n",
            "    Sequencer * sequencer;\n    RubyPrefetcher * prefetcher;\n"
            '    bool enable_prefetch := "False";\n',
        ),
        Edit(
            "  state_declaration(State,",
            '  structure(RubyPrefetcher, external="yes") {\n'
            "    void observeMiss(Addr, RubyRequestType);\n  }\n"
            "  void enqueuePrefetch(Addr address, RubyRequestType type) {\n  }\n"
            "  state_declaration(State,",
        ),
    ),
    HANG,
)


def test_a_prefetcher_is_refused_where_it_is_used(tmp_path: Path) -> None:
    planted = load_protocol(str(PREFETCHER.plant(tmp_path)), native=True)
    small_system(planted, Bounds(), symmetry=True)
    used = Bounds(assignments=(("machine.L1Cache.parameters.enable_prefetch", True),))
    with pytest.raises(ConfigError, match=r"explored with L1Cache\.prefetcher: set"):
        small_system(planted, used, symmetry=True)


@pytest.mark.explore
def test_times_that_only_measure_make_no_states(tmp_path: Path) -> None:
    bounds = Bounds(locations=1)
    driver = with_times(tmp_path, "if (LastBegun != zero_time()) { tbe.Begun := LastBegun; }")
    found = explore(load_protocol(str(driver), native=True), bounds, SMALL)
    usual = searched("MI", bounds)
    assert found.conclusion is Conclusion.EXHAUSTED
    assert found.statistics.states == usual.statistics.states
    assert found.system.times == ("RequestMsg.Sent", "TBE.Begun", "L1Cache.LastBegun")
    assert not found.system.timed


@pytest.mark.explore
def test_what_a_machine_counts_makes_no_states(tmp_path: Path) -> None:
    bounds = Bounds(caches=1, lines=2, locations=1)
    driver = with_times(tmp_path, "Evictions := Evictions + 1;", 'int Evictions, default="0";')
    found = explore(load_protocol(str(driver), native=True), bounds, SMALL)
    assert found.conclusion is Conclusion.EXHAUSTED
    assert found.statistics.states == searched("MI", bounds).statistics.states
    assert "L1Cache.Evictions" in found.system.times


@pytest.mark.explore
def test_what_is_asserted_of_times_is_judged_where_there_is_time(tmp_path: Path) -> None:
    timed = load_protocol(str(with_times(tmp_path, "assert(tbe.Begun > curCycle());")), native=True)
    found = explore(timed, Bounds(caches=1, lines=2, locations=1), SMALL)
    assert found.conclusion is Conclusion.EXHAUSTED
    unjudged = "what L1Cache asserts of times is not judged"
    assert any(unjudged in line for line in system_lines(found))
    for engine in ("native", "python"):
        finding = tester.run(timed, 300, 1, engine=engine).finding
        assert finding is not None and "assert" in finding.headline


def test_what_a_structure_asserts_of_times_is_not_judged_either(tmp_path: Path) -> None:
    driver = with_times(tmp_path)
    cache = tmp_path / "MI-cache.sm"
    field = "Cycles Begun;"
    method = f"{field} void check() {{ assert(Begun == Begun); }}"
    cache.write_text(cache.read_text().replace(field, method, 1))
    system = small_system(load_protocol(str(driver), native=True), Bounds(), symmetry=True)
    assert system.timed == ("TBE",)


def test_a_time_that_decides_is_refused_by_name(tmp_path: Path) -> None:
    driver = with_times(tmp_path, "scheduleEvent(tbe.Begun);")
    with pytest.raises(ConfigError, match=r"it has TBE\.Begun of type Cycles$"):
        explore(load_protocol(str(driver), native=True), Bounds(), SMALL)


def test_cells_of_an_exhausted_system() -> None:
    """One cache is never asked for its line by another."""
    found = searched("MSI", Bounds(caches=1, locations=1))
    lines = list(cell_lines(found, Namer(protocol("MSI"), found.system)))
    assert lines[0].startswith("L1Cache: ") and "(M, FwdGetS)" in lines[0]
    assert "(I, Load)" not in lines[0]


def test_the_probability_of_an_omission() -> None:
    assert omission_probability(1, 64) == 0
    assert omission_probability(1 << 32, 64) == pytest.approx(0.39, abs=0.01)
    assert omission_probability(100_000_000, 64) == pytest.approx(2.7e-4, rel=0.02)


@pytest.mark.explore
@pytest.mark.parametrize(
    "bug",
    [bug for bug in BUGS if bug.protocol in WHOLE or bug.name in MESI],
    ids=lambda bug: bug.name,
)
def test_planted_bugs_of_the_small_protocols(
    bug: Bug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)  # to optimise takes longer than to explore
    if bug.name in INEXPRESSIBLE:
        pytest.skip(INEXPRESSIBLE[bug.name])
    planted = load_protocol(str(bug.plant(tmp_path)), native=True)
    engines = bool(find_roles(planted.info, planted.description).dmas)
    ways = [Bounds(), Bounds(lines=2, locations=1), Bounds(caches=3, locations=1)]
    ways += [Bounds(engines=True), Bounds(engines=True, locations=1)] if engines else []
    ways += [replace(LINKED, assignments=(("requester.cpu.atomics", "linked"),)), LINKED]
    for bounds in ways:
        if explore(planted, bounds, ONCE).conclusion is Conclusion.FOUND:
            return
    pytest.fail(f"{bug.name} was not found")


@pytest.mark.explore
def test_a_trace_names_every_message(tmp_path: Path) -> None:
    """A counterexample becomes a leg, whose script needs those that local steps leave out."""
    bug = BY_NAME["snoop-reader-keeps-the-line"]
    found = hunted(bug, tmp_path, Bounds())
    assert found.finding is not None and not found.rules.local_steps
    namer = Namer(protocol("MSI_Snoop"), found.system)
    text = "\n".join(trace_lines(found.finding, namer))
    assert "MemoryMsg of line 0 arrives in Memory0.requestToMemory" in text
    assert "the bus carries RequestMsg of line 0" in text


def test_what_a_bus_carries_arrives_in_no_one_buffer() -> None:
    """Its port was read as the number of a buffer: requests arrived in a mandatory queue."""
    system, search = opened("MSI_Snoop", Bounds(caches=1), symmetry=False)
    namer = Namer(protocol("MSI_Snoop"), system)
    with search:
        search.apply(search.choices()[0].packed)
        assert [*map(namer.choice, search.choices())] == ["the bus carries RequestMsg of line 0"]


@pytest.mark.explore
@pytest.mark.parametrize(
    ("name", "agents"), [("tcp-acquire-keeps-the-line", 1), ("tcp-fill-survives-acquire", 2)]
)
def test_planted_bugs_of_a_gpu(name: str, agents: int, tmp_path: Path) -> None:
    found = hunted(BY_NAME[name], tmp_path, Bounds(locations=1, agents=agents), GPU_RULES)
    assert found.finding is not None and found.finding.kind is FindingKind.VALUE


def overtaking(directory: Path) -> LoadedProtocol:
    """MI, whose caches' requests need not wait for those before them."""
    for file in (ROOT / "protocols").glob("MI[-.]*"):
        text = file.read_text()
        request = "enqueue(requestNetwork_out, RequestMsg, issue_latency"
        (directory / file.name).write_text(text.replace(request, f"{request}, true"))
    return load_protocol(str(directory / "MI.slicc"), native=True)


def test_what_overtakes_where_nothing_is_ordered_is_explored(tmp_path: Path) -> None:
    bounds = Bounds(locations=1)
    found = explore(overtaking(tmp_path), bounds, SMALL)
    assert found.conclusion is Conclusion.EXHAUSTED
    assert found.statistics.states == searched("MI", bounds).statistics.states


def test_what_overtakes_in_order_ends_the_search_and_is_named(tmp_path: Path) -> None:
    ordered = ("L1Cache.buffer.requestFromCache", "Directory.buffer.requestToDir")
    changes = [(f"machine.{buffer}.ordered", True) for buffer in ordered]
    changes.append(("machine.L1Cache.cache.cacheMemory.ways", 2))
    bounds = Bounds(caches=1, lines=2, locations=1, agents=2, assignments=tuple(changes))
    found = explore(overtaking(tmp_path), bounds, Rules(most_states=20_000))
    assert (found.conclusion, found.end) == (Conclusion.LIMIT, SearchEnd.REFUSED)
    assert found.reason.startswith("a message that need not wait for those before it, in a buffer")
