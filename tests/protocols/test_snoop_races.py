"""The races of MSI_Snoop in docs/protocols.md, each with the late message named."""

from __future__ import annotations

import pytest

from runtime.requesters.sequencer import Sequencer
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tests.protocols.harness import Harness, shipped
from tests.sampling import sampled

X = 0x1000
OTHER = X + 0x10000
"""A line of the same set."""
ONE_WAY = {"machine__L1Cache__cache__cacheMemory": {"sets": 1, "ways": 1}}
ON_BUS = {"network__bus": [0, 1]}
DATA_BESIDE_IT = {"network__bus": [0]}


def test_readers_and_a_writer() -> None:
    harness = Harness("MSI_Snoop")
    harness.at(10, "cpu0", "load", X)
    harness.at(10, "cpu1", "load", X)
    store = harness.at(300, "cpu2", "store", X, 0x5A)
    loads = [harness.at(600 + 100 * cpu, f"cpu{cpu}", "load", X) for cpu in range(4)]
    harness.run()
    assert store.done < 600
    assert [load.value for load in loads] == [0x5A] * 4
    assert harness.ran("L1Cache 0", "S", "OtherGetM")
    assert harness.ran("L1Cache 2", "M", "OtherGetS")


def test_two_readers_want_to_write() -> None:
    harness = Harness("MSI_Snoop")
    harness.at(10, "cpu0", "load", X)
    harness.at(10, "cpu1", "load", X)
    harness.at(300, "cpu0", "store", X, 0x11)
    harness.at(300, "cpu1", "store", X + 1, 0x22)
    load = harness.at(1500, "cpu2", "load", X)
    other = harness.at(1500, "cpu2", "load", X + 1)
    harness.run()
    assert (load.value, other.value) == (0x11, 0x22)
    assert harness.ran("L1Cache 1", "SM_AD", "OtherGetM")
    assert harness.ran("L1Cache 0", "IM_D", "OtherGetM")


@pytest.mark.parametrize("network", [ON_BUS, DATA_BESIDE_IT])
def test_a_writer_asks_before_the_line_has_come_to_a_reader(network: dict[str, object]) -> None:
    harness = Harness("MSI_Snoop", **network)
    harness.hold("Memory0.dataToBus", "L1Cache 0", X, 500)
    first = harness.at(10, "cpu0", "load", X)
    store = harness.at(100, "cpu1", "store", X, 0x5A)
    behind = harness.at(300, "cpu0", "load", X)
    harness.run()
    assert first.done > 500
    assert harness.ran("L1Cache 0", "IS_D", "OtherGetM")
    initial = harness.initial(X)
    if network is ON_BUS:  # Data of the reader are before those of the writer
        assert store.done > first.done
        assert behind.value == initial
    else:  # stale: the second load began after the store was done
        assert store.done < 300
        assert behind.value == initial


def test_an_eviction_is_overtaken_on_its_way_to_the_bus() -> None:
    harness = Harness("MSI_Snoop", **ONE_WAY)
    harness.at(10, "cpu0", "store", X, 0x5A)
    harness.hold("L1Cache0.requestToBus", "L1Cache 0", X, 0, 500)  # the eviction
    harness.at(200, "cpu0", "load", OTHER)
    reader = harness.at(300, "cpu1", "load", X)
    writer = harness.at(450, "cpu2", "store", X, 0xA5)
    load = harness.at(1500, "cpu3", "load", X)
    harness.run()
    assert (reader.value, load.value) == (0x5A, 0xA5)
    assert 0 < writer.done < 700
    assert harness.ran("L1Cache 0", "MI_A", "OtherGetS")
    assert harness.ran("L1Cache 0", "II_A", "OtherGetM")
    assert harness.ran("L1Cache 0", "II_A", "OwnPutM")
    assert harness.ran("Memory", "M", "PutMNonOwner")


@pytest.mark.parametrize("other", ["load", "store"])
@pytest.mark.parametrize(
    ("what", "asked", "came"),
    [("load", "IS_AD", "IS_A"), ("store", "IM_AD", "IM_A"), ("upgrade", "SM_AD", "IM_A")],
)
def test_the_line_overtakes_requests_that_cannot_be_answered(
    what: str, asked: str, came: str, other: str
) -> None:
    """Cache 0 cannot send Y while X keeps its slot; requests for Z are behind that for Y."""
    harness = Harness("MSI_Snoop", machine__L1Cache__buffer__dataToBus__capacity=1)
    y, z = X + 0x40, X + 0x80
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.at(100, "cpu0", "store", y, 0x22)
    if what == "upgrade":
        harness.at(200, "cpu0", "load", z)
    harness.hold("L1Cache0.dataToBus", "L1Cache 1", X, 300)
    harness.at(400, "cpu1", "load", X)
    harness.at(420, "cpu2", "load", y)
    harness.at(420, "cpu3", other, z, 0x33)
    mine = harness.at(421, "cpu0", "load" if what == "load" else "store", z, 0x44)
    again = harness.at(2000, "cpu0", "load", z)
    harness.run()
    assert 450 < mine.done < 700, "done while the requests still wait"
    written = 0x44 if what != "load" else 0x33 if other == "store" else harness.initial(z)
    assert again.value == written
    assert harness.ran("L1Cache 0", asked, "Data")
    assert harness.ran("L1Cache 0", came, f"OtherGet{'S' if other == 'load' else 'M'}")
    assert harness.ran("L1Cache 0", came, f"OwnGet{'S' if what == 'load' else 'M'}")


def test_a_processor_knows_of_an_eviction_before_another_one_can_store() -> None:
    """What it has read ahead may be old before the write-back is on the bus."""
    harness = Harness("MSI_Snoop", **ONE_WAY)
    cpu = harness.requesters["cpu0"]
    assert isinstance(cpu, Sequencer)
    told: list[int] = []
    cpu.watch_evictions(lambda line: told.append(harness.system.engine.now))
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.at(300, "cpu0", "load", OTHER)
    harness.run()
    asked, done = told
    assert asked < done, "when it asks to write the line back, and when the frame is free"


@pytest.mark.parametrize("seed", sampled([3, 1, 2], 3))
def test_without_the_order_of_a_bus_it_fails(seed: int) -> None:
    protocol = shipped("MSI_Snoop")
    for kind, passes in (("bus", True), ("point_to_point", False)):
        options = Options(seed, 60, assignments={"network.kind": kind})
        campaign = Campaign(protocol, options)
        findings = [campaign.run_leg(plan.leg)[1] for plan in campaign.plans()]
        assert (findings == [None] * len(findings)) == passes, kind
