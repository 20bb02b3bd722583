"""Both engines make the same transitions at the same ticks when messages travel on a bus."""

from __future__ import annotations

import pytest

from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tests.sampling import sampled
from tests.tester.native.equality import in_python, loaded, natively

SYSTEMS: dict[str, dict[str, object]] = {
    "delayed": {"network.delays": "heavy_tail", "network.latency": 3},
    "late": {"network.delays": "stragglers", "machine.Memory.count": 2},
    "one slot": {
        "network.delays": "gem5",
        **{
            f"machine.{machine}.buffer.{buffer}.capacity": 1
            for machine, buffers in {
                "L1Cache": ("requestToBus", "requestFromBus", "dataToBus", "dataFromBus"),
                "Memory": ("requestFromBus", "dataFromBus", "dataToBus", "requestToMemory"),
            }.items()
            for buffer in buffers
        },
    },
    "data beside it": {
        "network.delays": "uniform",
        "network.bus": [0],
        "machine.L1Cache.buffer.requestToBus.latency": 7,
    },
}


@pytest.mark.parametrize("seed", sampled(list(range(1, 6)), 2))
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_bus_runs_alike(system: str, seed: int) -> None:
    options = Options(seed, 200, leg_episodes=60, assignments=SYSTEMS[system])
    leg = Campaign(loaded("MSI_Snoop"), options).plan(0).leg
    python, native = in_python("MSI_Snoop", leg)[0], natively("MSI_Snoop", leg)[0]
    assert python == native
    assert python.finding == ""
    assert python.trace
