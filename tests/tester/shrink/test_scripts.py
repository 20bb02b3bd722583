"""Delays that were written down: the same run, wherever its agents and lines are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tester.campaign.engine_diff import traced_in_python
from tester.program.replay_file import Leg
from tester.shrink.scripts import (
    NOMINAL,
    is_drawn,
    script_of,
    with_channels_renamed,
    with_lines_moved,
    with_script,
    written_down,
)
from tester.shrink.simpler_programs import lines_of
from tester.shrink.trials import derived
from tests.tester.native.equality import leg_of, loaded


def delayed(policy: str) -> Leg:
    leg = leg_of("MSI", "line-duel", 2, 4)
    return replace(leg, description=leg.description.override({"network.delays": policy}))


def test_written_down_a_leg_runs_as_before() -> None:
    leg = delayed("heavy_tail")
    written = written_down(leg, loaded("MSI"))
    assert written is not None
    assert is_drawn(leg.description)
    assert not is_drawn(written.description)
    before, after = (traced_in_python(loaded("MSI"), each)[0] for each in (leg, written))
    assert len(before) > 20
    assert np.array_equal(before, after)


def test_a_script_moves_with_its_lines() -> None:
    written = written_down(delayed("heavy_tail"), loaded("MSI"))
    assert written is not None
    lines = lines_of(written.program)
    far = 16 << 20  # the same sets and banks
    moved = derived(with_lines_moved(written, {line: line + far for line in lines}))
    before, after = (traced_in_python(loaded("MSI"), each)[0] for each in (written, moved))
    after[:, 2] -= far
    run = len(before) // 2  # who reads back which line, at the end, depends on its number
    assert run > 20
    assert np.array_equal(before[:run], after[:run])


def test_a_script_without_rows_is_none() -> None:
    written = written_down(delayed("uniform"), loaded("MSI"))
    assert written is not None
    assert with_script(written, []).description.network.delays == NOMINAL
    gone = with_channels_renamed(written, lambda end: None if end.startswith("L1Cache1.") else end)
    assert 0 < len(script_of(gone)) < len(script_of(written))
    assert not any("L1Cache1." in row.channel for row in script_of(gone))
