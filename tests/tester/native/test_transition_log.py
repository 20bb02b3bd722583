"""A log has the first transitions of a leg, the same on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.engine_diff import traced_in_python
from tester.engines.selection import PYTHON, Chosen
from tester.native import batch as native_batch
from tester.native.transition_log import TransitionLog
from tests.tester.native.equality import engine, loaded

PROTOCOLS = ("MI", "GPU_VIPER")
OPTIONS = Options(5, 10**6, leg_episodes=12)


def logged(protocol: str, chosen: Chosen, room: int) -> np.ndarray:
    """Of the second of two legs that share the log."""
    log = TransitionLog(room)
    campaign = Campaign(loaded(protocol), OPTIONS, chosen, log=log)
    for number in (4, 2):
        assert campaign.run_leg(campaign.plan(number).leg)[1] is None
    return log.transitions.copy()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_engines_write_what_a_traced_run_has(protocol: str) -> None:
    leg = Campaign(loaded(protocol), OPTIONS).plan(2).leg
    expected, _ = traced_in_python(loaded(protocol), leg)
    room = len(expected) // 2
    assert room > 100
    for chosen in (PYTHON, engine(protocol)):
        assert np.array_equal(logged(protocol, chosen, len(expected) + 9), expected)
        assert np.array_equal(logged(protocol, chosen, room), expected[:room])


def test_a_leg_that_takes_several_calls_is_logged_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = logged("MI", engine("MI"), 1 << 16)
    monkeypatch.setattr(native_batch, "_STEPS", 1)
    assert np.array_equal(logged("MI", engine("MI"), 1 << 16), whole)
    monkeypatch.setattr(native_batch, "SMALL_LEG", 1)
    assert np.array_equal(logged("MI", engine("MI"), 1 << 16), whole)
