"""Legs with a changed statement, and faults in bodies."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from protocols import shipped
from protocols.loader import compiled_again, load_protocol
from runtime.controller.trace import TraceHash
from runtime.system.builder import build_system
from slicc.codegen.python.importer import load_package
from slicc.mutation.other_statements import OtherStatements
from tester.blame import statements
from tester.blame.blame import blame
from tester.blame.executed import executed_lines
from tester.blame.statements import ChangedStatements
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.native.batch import FAILS
from tester.native.mutants import MutantProtocol
from tester.program.replay_file import Leg
from tester.shrink.search import Shrinker
from tester.shrink.trials import Trials
from tests.tester.native.equality import PROTOCOLS, engine, loaded

LOADED = "sequencer.readCallback(address, cache_entry.DataBlk, true);"
EVICTED = "sequencer.evictionCallback(address);"


@cache
def small_leg() -> Leg:
    leg = Campaign(loaded("MSI"), Options(7, 10**6, leg_episodes=2)).plan(1).leg
    return replace(leg, deadlock_limit=5000)


def line_of(text: str, file: str = "MSI-cache.sm") -> str:
    lines = (shipped()["MSI"].parent / file).read_text(encoding="utf-8").splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if line.strip() == text]
    return f"{file}:{number}"


def test_lines_that_a_leg_executes_are_counted() -> None:
    found = executed_lines(small_leg(), loaded("MSI"))
    asked, dropped = (f"out_msg.Type := CoherenceRequestType:{each};" for each in ("GetM", "PutS"))
    steps = Trials(Campaign(loaded("MSI"), Options(7, 1))).traced(small_leg()).steps
    assert 0 < found[line_of(asked)] < len(steps)
    assert found[line_of(dropped)] == 0
    assert found == executed_lines(small_leg(), loaded("MSI")), "each run is a new one"


def test_changes_are_those_of_the_first_lines_and_do_alike_on_both_engines() -> None:
    engine("MSI")  # skips where there is no compiler
    protocol, leg = loaded("MSI"), small_leg()
    lines = [line_of(LOADED), line_of(EVICTED)]
    tried = ChangedStatements(protocol, lines, leg)
    assert {each.source for each in tried.changes} == set(lines)
    places = [each.place for each in tried.changes]
    assert list(dict.fromkeys(places)) == ["L1Cache.ld_loadDone", "L1Cache.lc_loseCopy"]
    natively = tried.traces(leg, tried.changes)
    tried.close()
    compiled = compiled_again(protocol)
    assert compiled is not None
    program = compiled.protocol
    place = next(n for n, each in enumerate(program.machines) if each.name == "L1Cache")
    others_of = OtherStatements(program, program.machines[place])
    by_words = {
        (declared.ref.name, each.words): each.machine
        for declared in others_of.declarations
        for others in others_of.of(declared)
        for each in others
    }
    in_python = []
    for change in tried.changes:
        machines = list(program.machines)
        machines[place] = by_words[change.place.partition(".")[2], change.words]
        info = load_package(replace(program, machines=tuple(machines))).PROTOCOL
        system = build_system(info, leg.description, leg.run_key)
        trace = TraceHash()
        for controller in system.controllers:
            controller.observer = trace
        passes = leg_run(leg, system).run().finding is None
        in_python.append(trace.value if passes else FAILS)
    assert natively == in_python
    assert FAILS in natively
    assert set(natively) != {FAILS}


def test_a_change_that_brings_down_its_process_fails_and_the_others_are_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine("MSI")
    protocol, leg = loaded("MSI"), small_leg()
    lines = [line_of(LOADED), line_of(EVICTED)]
    tried = ChangedStatements(protocol, lines, leg)
    usual = tried.traces(leg, tried.changes)
    tried.close()
    passing = next(place for place, end in enumerate(usual) if end != FAILS)
    run = statements._trace

    def dies(leg: Leg, protocol: MutantProtocol) -> int:
        if protocol.number == passing + 1:
            os._exit(3)
        return run(leg, protocol)

    monkeypatch.setattr(statements, "_trace", dies)
    found = tried.traces(leg, tried.changes)
    tried.close()
    assert found == [*usual[:passing], FAILS, *usual[passing + 1 :]]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "body", "remedy"),
    [
        (
            "MSI-cache.sm",
            "out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));\n"
            "        out_msg.DataBlk := cache_entry.DataBlk;",
            "out_msg.DataBlk := cache_entry.DataBlk;",
            "L1Cache.db_sendDataToBoth",
            "with `out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory))` "
            "in addition",
        )
    ],
)
def test_a_missing_statement_is_blamed(
    file: str, right: str, wrong: str, body: str, remedy: str, tmp_path: Path
) -> None:
    """No changed row sends the line to the directory as well."""
    engine("MSI")
    for each in shipped()["MSI"].parent.glob("MSI*"):
        shutil.copy(each, tmp_path)
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong), encoding="utf-8")
    protocol = load_protocol(str(tmp_path / "MSI.slicc"), native=True)
    native = choose(Choice.native, protocol, lambda words: None)
    try:
        campaign = Campaign(protocol, Options(1, 2000), native)
        failing = next(each.leg for each in campaign.plans() if campaign.failure_of(each.leg))
        trials = Trials(campaign)
        shrunk = Shrinker(failing, protocol, trials).run()
        first = blame(shrunk.leg, shrunk.kind, trials).suspects[0]
    finally:
        native.close()
    assert first.cell == body
    assert remedy in first.remedies
    assert first.where.startswith(f"{file}:")
    assert first.passed == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_all_changes_of_a_protocol_compile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that did not left a leg without changed statements."""
    engine(name)
    protocol = loaded(name)
    compiled = compiled_again(protocol)
    assert compiled is not None
    monkeypatch.setattr(statements, "_MOST", 10**6)
    lines = [line for _, _, line, _ in statements._all(compiled.protocol)]
    leg = Campaign(protocol, Options(7, 10**6, leg_episodes=2)).plan(1).leg
    assert len(ChangedStatements(protocol, lines, leg).changes) > len(set(lines))
