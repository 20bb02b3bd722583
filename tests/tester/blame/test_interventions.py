"""Rows that are changed for a run."""

from __future__ import annotations

from pathlib import Path

from tester.blame.interventions import passes_with, remedies
from tests.tester.shrink.failing import failing


def test_the_right_row_makes_a_leg_pass(tmp_path: Path) -> None:
    """The fill of a line, with what the fault left out: it wakes what waits."""
    broken = failing(tmp_path, "mi-fill-wakes-nothing")
    small = broken.shrunk().leg
    machine = broken.protocol.info.machine("Directory")
    state, event = machine.STATES.IM, machine.EVENTS.Memory_Data
    cell = ("Directory", state, event)
    row = machine.TRANSITIONS[state, event]
    assert not passes_with(small, broken.protocol, cell, row)
    found = dict(remedies(small, broken.protocol, cell, 200))
    assert any(found.values())
    assert not all(found.values())
    assert machine.TRANSITIONS[state, event] is row, "nothing outlives a run"
    assert not passes_with(small, broken.protocol, cell, row)
    assert len(dict(remedies(small, broken.protocol, cell, 3))) == 3
