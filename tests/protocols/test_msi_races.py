"""The races of MSI in docs/protocols.md, each with the late message named."""

from __future__ import annotations

from tests.protocols.harness import Harness

X = 0x1000
OTHER = X + 0x10000
"""A line of the same set."""
ONE_WAY = {"machine__L1Cache__cache__cacheMemory": {"sets": 1, "ways": 1}}


def test_acknowledgements_before_their_number() -> None:
    harness = Harness("MSI")
    harness.at(10, "cpu0", "load", X)
    harness.at(10, "cpu1", "load", X)
    harness.hold("Directory0.responseToCache", "L1Cache 2", X, 500)
    store = harness.at(300, "cpu2", "store", X, 0x5A)
    load = harness.at(1500, "cpu0", "load", X)
    harness.run()
    assert store.done > 800
    assert load.value == 0x5A
    assert harness.ran("L1Cache 2", "IM_AD", "InvAck")
    assert harness.ran("L1Cache 2", "IM_AD", "DataDirNoAcks")


def test_a_writer_waits_for_the_last_reader() -> None:
    harness = Harness("MSI")
    harness.at(10, "cpu0", "load", X)
    harness.at(10, "cpu1", "load", X)
    harness.hold("Directory0.forwardToCache", "L1Cache 1", X, 500)
    store = harness.at(300, "cpu2", "store", X, 0x5A)
    old = harness.at(500, "cpu1", "load", X)
    load = harness.at(1500, "cpu1", "load", X)
    harness.run()
    assert old.value == harness.initial(X)
    assert store.done > 800
    assert load.value == 0x5A
    assert harness.ran("L1Cache 2", "IM_A", "LastInvAck")


def test_an_order_overtakes_the_line_that_a_reader_waits_for() -> None:
    harness = Harness("MSI")
    harness.hold("Directory0.responseToCache", "L1Cache 0", X, 500)
    load = harness.at(10, "cpu0", "load", X)
    store = harness.at(200, "cpu1", "store", X, 0x5A)
    again = harness.at(1500, "cpu0", "load", X)
    harness.run()
    assert load.value == harness.initial(X)
    assert store.done > load.done > 500
    assert again.value == 0x5A
    assert harness.ran("L1Cache 0", "IS_D", "Inv")


def test_an_order_overtakes_the_line_that_a_writer_waits_for() -> None:
    harness = Harness("MSI")
    harness.hold("Directory0.responseToCache", "L1Cache 0", X, 500)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.at(200, "cpu1", "store", X + 1, 0x22)
    load = harness.at(1500, "cpu2", "load", X)
    other = harness.at(1500, "cpu2", "load", X + 1)
    harness.run()
    assert (load.value, other.value) == (0x11, 0x22)
    assert harness.ran("L1Cache 0", "IM_AD", "FwdGetM")


def test_two_readers_want_to_write() -> None:
    harness = Harness("MSI")
    harness.at(10, "cpu0", "load", X)
    harness.at(10, "cpu1", "load", X)
    harness.at(300, "cpu0", "store", X, 0x11)
    harness.at(300, "cpu1", "store", X + 1, 0x22)
    load = harness.at(1500, "cpu2", "load", X)
    other = harness.at(1500, "cpu2", "load", X + 1)
    harness.run()
    assert (load.value, other.value) == (0x11, 0x22)
    assert harness.ran("L1Cache 1", "SM_AD", "Inv")
    assert harness.ran("L1Cache 1", "IM_AD", "DataOwner")


def test_an_eviction_crosses_an_order() -> None:
    harness = Harness("MSI", **ONE_WAY)
    harness.at(10, "cpu0", "store", X, 0x5A)
    harness.hold("L1Cache0.requestToDir", "Directory 0", X, 0, 500)  # the eviction
    harness.at(200, "cpu0", "load", OTHER)
    reader = harness.at(300, "cpu1", "load", X)
    writer = harness.at(500, "cpu2", "store", X, 0xA5)
    load = harness.at(1500, "cpu3", "load", X)
    harness.run()
    assert reader.value == 0x5A
    assert 0 < writer.done < 700
    assert load.value == 0xA5
    assert harness.ran("L1Cache 0", "MI_A", "FwdGetS")
    assert harness.ran("L1Cache 0", "SI_A", "Inv")
    assert harness.ran("L1Cache 0", "II_A", "PutAck")
    assert harness.ran("Directory", "M", "PutMNonOwner")
