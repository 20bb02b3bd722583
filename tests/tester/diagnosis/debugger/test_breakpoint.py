"""Breakpoints: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import pytest

from protocols.loader import load_protocol
from tester.diagnosis.debugger.breakpoint import breakpoint_of
from tester.errors import ConfigError

LINES = {"A": 0x1040, "B": 0x2000}


def test_a_breakpoint_names_cells_of_the_table() -> None:
    info = load_protocol("MI").info
    cache = info.machine("L1Cache")
    states, events = cache.STATES, cache.EVENTS
    found = breakpoint_of("L1Cache.M.Fwd_GETX@B", info, LINES, 64)
    ((state, event),) = found.cells
    assert (states.name_of(state), events.name_of(event), found.line) == ("M", "Fwd_GETX", 0x2000)
    assert breakpoint_of("L1Cache.M.Fwd_GETX", info, LINES, 64).line == -1
    assert breakpoint_of("L1Cache.M.Fwd_GETX@0x1077", info, LINES, 64).line == 0x1040
    every = breakpoint_of("L1Cache.*.Fwd_GETX", info, LINES, 64).cells
    assert every == {cell for cell in cache.TRANSITIONS if cell[1] == event}
    assert breakpoint_of("L1Cache.*.*", info, LINES, 64).cells == set(cache.TRANSITIONS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("L1Cache.M", "expected MACHINE.STATE.EVENT[@LINE]"),
        ("L1Cache..Data", "expected MACHINE.STATE.EVENT[@LINE]"),
        ("L1Cach.M.Data", "there is no machine L1Cach; did you mean L1Cache?"),
        ("L1Cache.MMM.Data", "there is no state of L1Cache MMM"),
        ("L1Cache.M.Fwd_GTX", "there is no event of L1Cache Fwd_GTX; did you mean Fwd_GETX?"),
        ("L1Cache.M.Data", "L1Cache has no transition from M on Data"),
        ("L1Cache.M.Load@Z", "'Z' is neither an address nor a line of the listing"),
        ("L1Cache.M.Load@-64", "'-64' is neither an address nor a line of the listing"),
        ("L1Cache.M.Load@", "'' is neither an address nor a line of the listing"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        breakpoint_of(text, load_protocol("MI").info, LINES, 64)
    assert str(caught.value).startswith(f"--break {text}: {why}")
