"""What nothing causes: named where it is so, and never where it happens."""

from __future__ import annotations

import pytest

from protocols import shipped
from protocols.loader import load_protocol
from slicc import ir
from slicc.analysis.sent import unsent
from slicc.compiler import compile
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options


def machines(protocol: ir.Protocol) -> list[str]:
    return [machine.name for machine in protocol.machines]


def test_a_directory_without_the_caches_that_it_serves_as_well() -> None:
    """MOESI_AMD_Base has the directory of GPU_VIPER, but no TCC."""
    protocol = compile(shipped()["MOESI_AMD_Base"]).protocol
    found = unsent(protocol, machines(protocol))
    assert not found["CorePair"] and not found["DMA"]
    events = {event for state, event in found["Directory"] if state == "U"}
    assert events == {"Atomic", "Flush", "RdBlkTCC", "WriteThrough"}
    assert {state for state, _ in found["Directory"]} - {"U"} == {
        *("BF", "BM_A", "BM_T", "BP_A", "BP_T"),
    }


@pytest.mark.parametrize("name", ["MI", "MSI", "MESI_Two_Level", "GPU_VIPER", "GPU_VIPER_APU"])
def test_whole_systems_have_nothing_unsent(name: str) -> None:
    protocol = compile(shipped()[name]).protocol
    assert not any(unsent(protocol, machines(protocol)).values())


def test_without_engines_their_requests_are_unsent() -> None:
    protocol = compile(shipped()["MI"]).protocol
    found = unsent(protocol, {"L1Cache", "Directory"})
    events = {event for _, event in found["Directory"]}
    assert {"DMA_READ", "DMA_WRITE"} <= events and not found["L1Cache"]


@pytest.mark.parametrize("name", ["MOESI_AMD_Base", "MSI_Snoop"])
def test_what_happens_is_not_unsent(name: str) -> None:
    protocol = compile(shipped()[name]).protocol
    campaign = Campaign(load_protocol(name), Options(1, 60))
    plan = next(campaign.plans())
    assert campaign.run_leg(plan.leg)[1] is None
    coverage = campaign.coverage
    found = unsent(protocol, coverage.machines)
    for machine, cells in coverage.cells("0" * 16, found).machines.items():
        hit = {cell for cell, count in cells.counts.items() if count}
        assert len(hit) > 3 and not hit & found[machine]
