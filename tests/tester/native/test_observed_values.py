"""Values that are not checked are kept for the host: what the program would have expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from protocols.loader import load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.handover import handover_rules_of
from tester.native.leg import NativeLegRun
from tester.program.program import LOAD, STORE
from tester.program.replay_file import Leg
from tests.compiling import compiler


@pytest.mark.parametrize("name", ["MESI_Two_Level", "GPU_VIPER"])
def test_what_blind_agents_load_is_what_was_expected(name: str) -> None:
    compiler()
    protocol = load_protocol(name, native=True)
    engine = choose(Choice.native, protocol, lambda text: None)
    assert engine.native is not None
    options = Options(3, 10**9, leg_episodes=40)
    leg = Campaign(protocol, options).plan(1).leg
    reads = leg.program.action_kind != STORE
    wanted = leg.program.expected
    assert np.count_nonzero(wanted[reads]) > 40
    # No load expects anything, so what it returns must come from the run; of an atomic operation it
    # is also what a compare-and-swap compares with.
    loads = (leg.program.action_kind == LOAD)[:, None]
    unknown = replace(leg.program, expected=np.where(loads, np.uint64(0), wanted))
    blind = replace(
        leg, program=unknown, description=structs.replace(leg.description, values=False)
    )
    returned = observed(blind, engine.native)
    quiet = leg.program.action_scope & 4 > 0
    assert np.array_equal(returned[reads & ~quiet], wanted[reads & ~quiet])


def observed(leg: Leg, native: object) -> np.ndarray:
    run = NativeLegRun(leg, native, handover_rules_of(leg), observes=True)  # type: ignore[arg-type]
    assert run.run().finding is None
    return run.returned()
