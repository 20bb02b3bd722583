"""The races of MESI_Two_Level in docs/protocols.md, each with the late message named."""

from __future__ import annotations

import pytest

from tests.protocols.harness import Harness

X = 0x1000
OTHER = X + 0x10000
"""A line of the same sets."""
ONE_BANK = {"machine__L2Cache__count": 1}
ONE_FRAME = {"sets": 1, "ways": 1}
SMALL_L1 = {"machine__L1Cache__cache__L1Dcache": ONE_FRAME}
SMALL_L2 = {"machine__L2Cache__cache__L2cache": ONE_FRAME}


def test_order_for_a_copy_that_was_dropped() -> None:
    """It meets the request for the line, and must not wait for what that asks."""
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L1)
    harness.at(10, "cpu0", "load", X)
    harness.at(200, "cpu1", "load", X)
    harness.at(400, "cpu0", "load", OTHER)  # drops the line silently
    harness.hold("L2Cache0.L1RequestFromL2Cache", "L1Cache 0", X, 500)
    harness.at(600, "cpu1", "store", X, 0x5A)
    again = harness.at(700, "cpu0", "load", X)
    harness.run()
    assert again.value == 0x5A
    assert harness.ran("L1Cache 0", "IS", "Inv")


def test_answers_before_their_number() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK)
    harness.at(10, "cpu0", "load", X)
    harness.at(200, "cpu1", "load", X)
    harness.hold("L2Cache0.responseFromL2Cache", "L1Cache 2", X, 500)
    store = harness.at(400, "cpu2", "store", X, 0x5A)
    load = harness.at(1500, "cpu0", "load", X)
    harness.run()
    assert store.done > 900
    assert load.value == 0x5A
    assert harness.ran("L1Cache 2", "IM", "Ack")


def test_a_writer_waits_for_the_last_reader() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK)
    harness.at(10, "cpu0", "load", X)
    harness.at(200, "cpu1", "load", X)
    harness.hold("L2Cache0.L1RequestFromL2Cache", "L1Cache 1", X, 500)
    store = harness.at(400, "cpu2", "store", X, 0x5A)
    old = harness.at(700, "cpu1", "load", X)
    harness.run()
    assert old.value == harness.initial(X)
    assert store.done > 900


def test_two_readers_want_to_write() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK)
    harness.at(10, "cpu0", "load", X)
    harness.at(200, "cpu1", "load", X)
    harness.at(400, "cpu0", "store", X, 0x11)
    harness.at(400, "cpu1", "store", X + 1, 0x22)
    loads = [harness.at(1500, "cpu2", "load", X + i) for i in range(2)]
    harness.run()
    assert [load.value for load in loads] == [0x11, 0x22]
    assert harness.ran("L1Cache 1", "SM", "Inv")
    assert not harness.ran("L1Cache 1", "IM", "Ack_all")


@pytest.mark.parametrize(
    ("what", "event"), [("load", "Fwd_GETS"), ("store", "Fwd_GETX"), ("replace", "Inv")]
)
def test_a_line_is_taken_away_while_it_is_given_up(what: str, event: str) -> None:
    small_l2 = SMALL_L2 if what == "replace" else {}
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L1, **small_l2)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.hold("L1Cache0.requestFromL1Cache", "L2Cache 0", X, 0, 500)  # the PUTX
    harness.at(300, "cpu0", "load", OTHER)
    if what == "replace":
        harness.at(310, "cpu1", "load", OTHER + 1)
    else:
        harness.at(400, "cpu1", what, X + 1, 0x22)
    load = harness.at(1500, "cpu2", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("L1Cache 0", "M_I", event)
    assert harness.ran("L1Cache 0", "SINK_WB_ACK", "WB_Ack")


def test_an_order_after_a_shared_line_was_given_up() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L1)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.hold("L1Cache0.requestFromL1Cache", "L2Cache 0", X, 0, 800)  # the PUTX
    harness.at(300, "cpu0", "load", OTHER)
    harness.at(400, "cpu1", "load", X)
    store = harness.at(700, "cpu1", "store", X, 0x22)
    load = harness.at(1500, "cpu0", "load", X)
    harness.run()
    assert 0 < store.done < 1000
    assert load.value == 0x22
    assert harness.ran("L1Cache 0", "SINK_WB_ACK", "Inv")


def test_late_victim_of_a_line_with_a_new_owner() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L1)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.hold("L1Cache0.requestFromL1Cache", "L2Cache 0", X, 0, 500)  # the PUTX
    harness.at(300, "cpu0", "load", OTHER)
    harness.at(400, "cpu1", "store", X, 0x22)
    load = harness.at(1500, "cpu2", "load", X)
    harness.run()
    assert load.value == 0x22
    assert harness.ran("L2Cache", "MT", "L1_PUTX_old")


def test_dma_takes_back_a_line_that_the_bank_gives_up() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L2)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.hold("L2Cache0.DirRequestFromL2Cache", "Directory 0", X, 0, 500)  # the PUTX
    harness.at(300, "cpu1", "load", OTHER)
    harness.at(400, "dma0", "store", X + 1, 0x22)
    loads = [harness.at(1500, "cpu2", "load", X + i) for i in range(2)]
    harness.run()
    assert [load.value for load in loads] == [0x11, 0x22]
    assert harness.ran("L2Cache", "M_I", "MEM_Inv")
    assert harness.ran("Directory", "I", "PUTX_old")


def test_late_victim_meets_the_directory_before_the_line_does() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK, **SMALL_L2)
    harness.at(10, "cpu0", "store", X, 0x11)
    harness.hold("L2Cache0.DirRequestFromL2Cache", "Directory 0", X, 0, 500)  # the PUTX
    harness.hold("L2Cache0.responseFromL2Cache", "Directory 0", X, 1000)  # the line
    harness.at(300, "cpu1", "load", OTHER)
    read = harness.at(400, "dma0", "load", X)
    load = harness.at(500, "cpu2", "load", X)
    harness.run()
    assert (read.value, load.value) == (0x11, 0x11)
    assert harness.ran("Directory", "M_DRD", "PUTX_old")


def test_dma_sees_what_a_processor_stored() -> None:
    harness = Harness("MESI_Two_Level", **ONE_BANK)
    harness.at(10, "cpu0", "store", X, 0x11)
    read = harness.at(500, "dma0", "load", X)
    harness.at(1000, "cpu1", "load", X)
    harness.at(1000, "cpu2", "load", X)
    write = harness.at(1500, "dma0", "store", X, 0x33)
    load = harness.at(2500, "cpu1", "load", X)
    harness.run()
    assert read.value == 0x11
    assert write.done < 2500
    assert load.value == 0x33
    assert harness.ran("L2Cache", "MT", "MEM_Inv")
    assert harness.ran("L2Cache", "SS", "MEM_Inv")
