"""The native engine runs a leg with a changed row as the Python engine does."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from runtime.native.build import recipe
from runtime.native.ctypes_api import Library
from runtime.native.row_change import MOST_ACTIONS, Changeable, numbered_actions
from runtime.native.toolchain.compiler import find_compiler
from runtime.native.toolchain.object_cache import user_cache
from tester.blame.interventions import Change, changes, native_rows, trace_with
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.execution.handover import handover_rules_of
from tester.native.batch import FAILS, LegBatch
from tester.native.leg import sizes_of
from tester.native.system import TESTER_CLIENTS
from tester.program.replay_file import Leg
from tests.tester.native.equality import PROTOCOLS, engine, loaded, native


def library_for(name: str, leg: Leg) -> Library:
    """An object in which rows can be changed."""
    engine(name)  # skips where there is no compiler
    sources = loaded(name).native
    assert sources is not None
    how = recipe(sources, TESTER_CLIENTS, sizes_of(leg.description), find_compiler())
    return TESTER_CLIENTS.load(how.for_changes().make(user_cache()))


def small_leg(name: str) -> Leg:
    leg = Campaign(loaded(name), Options(7, 10**6, leg_episodes=8)).plan(1).leg
    return replace(leg, deadlock_limit=5000)


@pytest.mark.parametrize("name", ["MSI", pytest.param("GPU_VIPER", marks=pytest.mark.slow)])
def test_a_leg_with_a_changed_row_ends_alike_on_both_engines(name: str) -> None:
    protocol, leg = loaded(name), small_leg(name)
    made = [
        (machine.MACHINE, *cell)
        for machine in protocol.info.machines
        for cell in machine.TRANSITIONS
    ]
    tried = [change for cell in made for change in islice(changes(protocol, cell), 3, 40, 12)]
    tried = tried[:: max(1, len(tried) // 30)]
    rows = list(native_rows(protocol, tried).values())
    assert len(rows) == len(tried)
    batch = LegBatch(native(name), handover_rules_of)
    natively = batch.traces(leg, library_for(name, leg), rows)
    assert natively == [trace_with(leg, protocol, each) for each in tried]
    assert FAILS in natively
    assert set(natively) != {FAILS}


def test_a_row_that_takes_its_message_no_more_is_cut() -> None:
    protocol, leg = loaded("MSI"), small_leg("MSI")
    kind = protocol.info.machine("L1Cache")
    cell = ("L1Cache", kind.STATES.I, kind.EVENTS.Load)
    endless = replace(kind.TRANSITIONS[cell[1:]], actions=(), next=None)
    [change] = native_rows(protocol, [Change(cell, "without all", endless, False, cell)]).values()
    batch = LegBatch(native("MSI"), handover_rules_of)
    assert batch.traces(leg, library_for("MSI", leg), [change]) == [FAILS]
    assert change.uses == 0


@pytest.mark.parametrize("name", PROTOCOLS)
def test_actions_have_the_numbers_of_the_generated_code(name: str) -> None:
    protocol = loaded(name)
    assert protocol.native is not None
    for machine in protocol.info.machines:
        text = next(
            text
            for file, text in protocol.native.files.items()
            if file.lower() == f"{machine.MACHINE.lower()}.hpp"
        )
        lines = text.partition("inline COLD void act(")[2].partition("\n}")[0].splitlines()
        cases = [line.split("(x, c, t)")[0].split()[-1] for line in lines if "case " in line]
        assert cases == list(numbered_actions(machine))


def test_what_no_row_runs_and_what_is_too_long_is_not_said_natively() -> None:
    machine = loaded("MSI").info.machine("L1Cache")
    (state, event), row = next(iter(machine.TRANSITIONS.items()))

    def unknown(c: object, t: object) -> None: ...

    changeable = Changeable(machine, 0)
    assert changeable.change(state, event, row, 1) is not None
    assert changeable.change(state, event, replace(row, actions=(unknown,)), 1) is None
    long = replace(row, actions=row.actions[:1] * (MOST_ACTIONS + 1))
    assert changeable.change(state, event, long, 1) is None


def test_objects_for_speed_cannot_change_rows() -> None:
    sources = loaded("MSI").native
    assert sources is not None
    how = recipe(sources, TESTER_CLIENTS, sizes_of(small_leg("MSI").description), find_compiler())
    assert "SLICC_CHANGES" not in how.defines
    assert "SLICC_CHANGES" in how.for_changes().defines
    assert how.key != how.for_changes().key
