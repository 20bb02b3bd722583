"""Rows that are changed for a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tester.blame.interventions import Change, changes, trace_with
from tester.native.batch import FAILS
from tests.tester.native.equality import loaded
from tests.tester.shrink.failing import failing


def test_the_right_row_makes_a_leg_pass(tmp_path: Path) -> None:
    """The fill of a line, with what the fault left out: it wakes what waits."""
    broken = failing(tmp_path, "mi-fill-wakes-nothing")
    small = broken.shrunk().leg
    machine = broken.protocol.info.machine("Directory")
    state, event = machine.STATES.IM, machine.EVENTS.Memory_Data
    cell = ("Directory", state, event)
    row = machine.TRANSITIONS[state, event]
    same = Change(cell, "as it is", row, True, cell)
    assert trace_with(small, broken.protocol, same) == FAILS
    found = {change.words: change for change in changes(broken.protocol, cell)}
    passing = {
        words for words, each in found.items() if trace_with(small, broken.protocol, each) != FAILS
    }
    assert "with k_wakeWaiting" in passing
    assert found["with k_wakeWaiting"].small
    assert len(passing) < len(found)
    assert machine.TRANSITIONS[state, event] is row, "nothing outlives a run"
    assert trace_with(small, broken.protocol, same) == FAILS


def test_an_action_of_other_events_in_other_states_is_tried(tmp_path: Path) -> None:
    """A TBE that stays is freed by no row of the same event, nor of the same state."""
    broken = failing(tmp_path, "mi-eviction-leaves-a-transaction")
    small = broken.shrunk().leg
    machine = broken.protocol.info.machine("L1Cache")
    cell = ("L1Cache", machine.STATES.MI, machine.EVENTS.Writeback_Ack)
    [freed] = (each for each in changes(broken.protocol, cell) if each.words == "with w_freeTBE")
    assert freed.small
    assert trace_with(small, broken.protocol, freed) != FAILS


def test_rows_that_differ_least_come_first_and_none_comes_twice() -> None:
    protocol = loaded("MSI")
    machine = protocol.info.machine("L1Cache")
    cell = ("L1Cache", machine.STATES.S, machine.EVENTS.Inv)
    found = list(changes(protocol, cell))
    rows = {(change.row.next, change.row.actions, change.row.stalls) for change in found}
    assert len(rows) == len(found)
    assert {change.words.split(" ")[0] for change in found} == {"with", "without", "as"}
    assert found[0].words.startswith("without ")
    assert found[0].small
    assert " in place of " in found[-1].words
    assert not found[-1].small
    assert all(change.source == cell for change in found)


def test_a_wake_up_is_added_behind_what_pops_the_message() -> None:
    """A woken message goes to the head of its queue: popped behind that, it would be lost."""
    protocol = loaded("MSI")
    machine = protocol.info.machine("L1Cache")
    cell = ("L1Cache", machine.STATES.S, machine.EVENTS.Inv)
    found = {change.words: change.row for change in changes(protocol, cell)}
    row = machine.TRANSITIONS[cell[1:]]
    assert found["with kw_wakeWaiting"].actions[:-1] == row.actions
    assert found["with wd_writeData"].actions[1:] == row.actions


def test_two_actions_are_tried_in_the_other_order() -> None:
    """The forward goes to the owner, so it is sent before the owner is forgotten."""
    protocol = loaded("MSI")
    machine = protocol.info.machine("Directory")
    cell = ("Directory", machine.STATES.M, machine.EVENTS.GetS)
    words = "with os_ownerIsSharer before fs_forwardGetS"
    [swapped] = (change for change in changes(protocol, cell) if change.words == words)
    row = machine.TRANSITIONS[cell[1:]]
    first, second, *others = row.actions
    assert swapped.row.actions == (second, first, *others)
    assert swapped.row.next == row.next
    assert swapped.small


def test_a_row_that_is_not_there_is_that_of_another_state() -> None:
    protocol = loaded("MSI")
    machine = protocol.info.machine("L1Cache")
    cell = ("L1Cache", machine.STATES.M, machine.EVENTS.DataOwner)
    assert cell[1:] not in machine.TRANSITIONS
    found = list(changes(protocol, cell))
    assert found
    for change in found:
        assert change.row is machine.TRANSITIONS[change.source[1:]]
        assert change.words.startswith("as in " if change.source[2] == cell[2] else "as on ")


def test_a_row_that_is_not_there_is_that_of_another_event_of_its_port() -> None:
    """Of the rows in II_A only one dequeues the port on which the event arrives."""
    protocol = loaded("MSI")
    machine = protocol.info.machine("L1Cache")
    cell = ("L1Cache", machine.STATES.II_A, machine.EVENTS.FwdGetS)
    assert cell[1:] not in machine.TRANSITIONS
    found = [change.words for change in changes(protocol, cell) if change.source[1] == cell[1]]
    assert found == ["as on PutAck"]


@pytest.mark.parametrize(
    ("state", "event", "like"),
    [("MI_A", "Store", "SI_A"), ("SM_A", "FwdGetM", "IM_A"), ("IM_AD", "Replacement", "SM_AD")],
)
def test_a_missing_row_is_first_that_of_the_state_that_does_most_alike(
    state: str, event: str, like: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of M and of SM_A, M was named: it is declared first."""
    machine = loaded("MSI").info.machine("L1Cache")
    cell = machine.STATES.members().index(state), machine.EVENTS.members().index(event)
    monkeypatch.delitem(machine.TRANSITIONS, cell)
    first = next(changes(loaded("MSI"), ("L1Cache", *cell)))
    assert first.words == f"as in {like}"
