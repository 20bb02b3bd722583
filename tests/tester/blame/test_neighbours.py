"""Legs next to a leg."""

from __future__ import annotations

from tester.blame.neighbours import messages_of, neighbours
from tester.shrink.scripts import script_of, with_script
from tests.tester.native.equality import leg_of, loaded


def test_neighbours_differ_in_one_thing() -> None:
    leg = with_script(leg_of("MSI", "line-duel", 2, 1), [])
    sent = messages_of(leg, loaded("MSI"))
    assert len(sent) > 10
    assert all(delay.cycles == 0 for delay in sent)
    found = list(neighbours(leg, loaded("MSI")))
    changes = [each.change for each in found]
    assert len(set(changes)) == len(changes)
    assert any(change.startswith("without accesses") for change in changes)
    later = [each for each in found if each.change.endswith("cycles later")]
    assert all(len(script_of(each.leg)) == 1 for each in later)
    assert all(each.leg.program is leg.program for each in later)
