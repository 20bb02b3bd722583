"""Pairs of transitions, against a few rows by hand and a slow search through whole legs."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.engine_diff import traced_in_python
from tester.campaign_directory.transition_pairs import PairFinder
from tester.program.replay_file import Leg


def drawn(name: str, number: int = 2) -> tuple[LoadedProtocol, Leg]:
    protocol = load_protocol(name)
    return protocol, Campaign(protocol, Options(5, 10**6, leg_episodes=12)).plan(number).leg


def by_searching(protocol: LoadedProtocol, leg: Leg, rows: np.ndarray) -> tuple[set, set]:
    """(own, line) as pairs of (machine, state, event)."""
    machines = [
        machine.MACHINE
        for machine in protocol.info.machines
        for _ in leg.description.instances_of(machine.MACHINE)
    ]
    own, line = set(), set()
    last: dict[object, tuple] = {}
    for _, controller, address, state, event, _ in rows.tolist():
        cell = (machines[controller], state, event)
        for key, found in ((address, line), ((controller, address), own)):
            if key in last:
                found.add((last[key], cell))
            last[key] = cell
    return own, line


@pytest.mark.parametrize("name", ["MI", "GPU_VIPER"])
def test_pairs_are_those_of_a_slow_search(name: str) -> None:
    protocol, leg = drawn(name)
    rows, _ = traced_in_python(protocol, leg)
    cells = sorted(
        (place, machine.MACHINE, *cell)
        for place, machine in enumerate(protocol.info.machines)
        for cell in machine.TRANSITIONS
    )
    finder = PairFinder(protocol.info)
    assert finder.cells == len(cells)
    found = finder.pairs(rows, leg.description)
    for numbers, expected in zip((found.own, found.line), by_searching(protocol, leg, rows)):
        named = {(cells[n // len(cells)][1:], cells[n % len(cells)][1:]) for n in numbers.tolist()}
        assert named == expected and len(expected) > 10
        assert numbers.tolist() == sorted(set(numbers.tolist()))


def test_lines_far_apart_and_no_rows_at_all() -> None:
    protocol, leg = drawn("MI")
    rows, _ = traced_in_python(protocol, leg)
    finder = PairFinder(protocol.info)
    near = finder.pairs(rows, leg.description)
    moved = rows.copy()
    moved[:, 2] = (moved[:, 2] - moved[:, 2].min()) << 20
    far = finder.pairs(moved, leg.description)
    assert far.own.tolist() == near.own.tolist() and far.line.tolist() == near.line.tolist()
    none = finder.pairs(rows[:0], leg.description)
    assert not len(none.own) and not len(none.line)
    assert not len(finder.pairs(rows[:1], leg.description).line)
