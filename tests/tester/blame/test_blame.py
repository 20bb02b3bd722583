"""Which transitions are to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tester.blame.blame import Suspect, blame
from tester.blame.neighbours import neighbours
from tester.blame.report import as_lines, as_table
from tester.blame.small_leg import small
from tester.shrink.trials import Trials
from tests.tester.shrink.failing import failing


@pytest.mark.parametrize(
    ("bug", "transition"),
    [
        ("mi-fill-wakes-nothing", "Directory.IM.Memory_Data"),
        pytest.param(
            *("mi-late-putx-not-expected", "Directory.MI.PUTX_NotOwner"), marks=pytest.mark.slow
        ),
    ],
)
def test_the_planted_transition_is_blamed(bug: str, transition: str, tmp_path: Path) -> None:
    broken = failing(tmp_path, bug)
    shrunk = broken.shrunk()
    trials = Trials(broken.campaign)
    found = blame(shrunk.leg, shrunk.kind, trials)
    cells = [suspect.cell for suspect in found.suspects]
    assert transition in cells
    suspect = found.suspects[cells.index(transition)]
    assert suspect.remedies
    assert ".sm:" in suspect.where
    table = as_table(found)
    assert table["neighbour"] == found.neighbour
    lines = as_lines(found)
    assert lines[0].startswith("1. ")
    assert found.neighbour
    assert lines[-1].startswith("the two runs part at tick ")
    nearest = neighbours(shrunk.leg, broken.protocol)
    named = next(each.leg for each in nearest if each.change == found.neighbour)
    assert trials.ending(named) != shrunk.kind


def test_a_small_leg_has_suspects_although_its_search_was_cut(tmp_path: Path) -> None:
    """A leg of 18 accesses had none, because its last candidates were not tried."""
    broken = failing(tmp_path, "mi-fill-wakes-nothing")
    most = broken.shrunk().candidates - 1
    found = small(broken.leg, broken.campaign, tmp_path / "min.leg", budget=most)
    assert found.shrunk.cut
    assert found.shrunk.after.accesses <= 24
    assert "Directory.IM.Memory_Data" in [suspect.cell for suspect in found.blame.suspects]


def test_a_place_beside_a_missing_transition_is_that_of_the_row_that_helps() -> None:
    """ "L1Cache.I.Writeback_Nack [MI-cache.sm:422]" was read as where it is."""
    missing = Suspect("L1Cache.I.Nack", "MI-cache.sm:422", 0.0, ("as in MI",), missing=True)
    assert str(missing) == "L1Cache.I.Nack: there is none; it passes as in MI [MI-cache.sm:422]"
