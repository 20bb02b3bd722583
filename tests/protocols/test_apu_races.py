"""The races of cache pairs in docs/protocols.md, among themselves and with a GPU.

``first0`` is core 0 of pair 0, ``second0`` its core 1.
"""

from __future__ import annotations

import pytest

from tests.protocols.harness import Harness

X = 0x1000
OTHER = X + 0x10000
"""A line of the same sets."""
ONE_FRAME = {"sets": 1, "ways": 1}
SMALL_PAIRS = {
    "machine__CorePair__cache__L2cache": ONE_FRAME,
    "machine__CorePair__cache__L1D0cache": ONE_FRAME,
}
THREE_PAIRS = {"machine__CorePair__count": 3}


def pairs(**settings: object) -> Harness:
    return Harness("MOESI_AMD_Base", **THREE_PAIRS, **settings)


def apu(write_back: bool = True, **settings: object) -> Harness:
    return Harness("GPU_VIPER_APU", machine__TCC__parameters__WB=write_back, **settings)


# ---------------------------------------------------------------------- pairs among themselves


def test_a_reader_alone_may_write() -> None:
    harness = pairs()
    harness.at(10, "first0", "load", X)
    store = harness.at(500, "second0", "store", X, 0x5A)
    load = harness.at(1000, "first1", "load", X)
    harness.run()
    assert store.done == store.accepted < 520
    assert load.value == 0x5A
    assert harness.ran("CorePair 0", "Es", "C1_Store_L1miss")
    assert harness.ran("CorePair 0", "M1", "PrbShrData")


def test_cores_of_a_pair_see_each_other_at_once() -> None:
    harness = pairs()
    harness.at(10, "first0", "store", X, 0x11)
    seen = harness.at(500, "second0", "load", X)
    harness.at(510, "second0", "store", X, 0x22)
    again = harness.at(520, "first0", "load", X)
    harness.run()
    assert (seen.value, again.value) == (0x11, 0x22)
    assert again.done < 530


def test_dirty_lines_are_read_and_stay() -> None:
    """O: read by others, not written to memory, written again by its owner."""
    harness = pairs()
    harness.at(10, "first0", "store", X, 0x11)
    load = harness.at(500, "first1", "load", X)
    assert harness.system.memory.read_line(X) & 0xFF == harness.initial(X)
    harness.at(1000, "second0", "store", X, 0x22)
    again = harness.at(1500, "first1", "load", X)
    harness.run()
    assert (load.value, again.value) == (0x11, 0x22)
    assert harness.system.memory.read_line(X) & 0xFF == harness.initial(X)
    assert harness.ran("CorePair 0", "O_M1", "NB_AckM")


@pytest.mark.parametrize("owner", [False, True])
def test_a_store_is_overtaken(owner: bool) -> None:
    harness = pairs()
    harness.at(10, "first0", "store" if owner else "load", X, 0x33 if owner else ())
    harness.at(300, "first1", "load", X)
    harness.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)
    harness.at(600, "first0", "store", X + 1, 0x11)
    harness.at(700, "first1", "store", X + 2, 0x22)
    loads = [harness.at(2500, "first2", "load", X + i) for i in range(3)]
    harness.run()
    first = 0x33 if owner else harness.initial(X)
    assert [load.value for load in loads] == [first, 0x11, 0x22]
    assert harness.ran("CorePair 0", "O_M0" if owner else "S_M0", "PrbInv")
    assert harness.ran("CorePair 0", "I_M0", "NB_AckM")


@pytest.mark.parametrize("what", ["load", "store"])
def test_a_victim_is_probed(what: str) -> None:
    harness = pairs(**SMALL_PAIRS)
    harness.at(10, "first0", "store", X, 0x11)
    harness.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)  # VicDirty
    harness.at(300, "first0", "load", OTHER)
    harness.at(400, "first1", what, X + 1, () if what == "load" else 0x22)
    load = harness.at(2000, "first2", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("CorePair 0", "I_C" if what == "store" else "MO_I", "NB_AckWB")


def test_a_probe_meets_a_line_that_was_dropped() -> None:
    harness = pairs(**SMALL_PAIRS)
    harness.at(10, "first0", "load", X)
    harness.at(300, "first0", "load", OTHER)  # drops X silently
    harness.at(600, "first1", "store", X, 0x11)
    harness.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)
    load = harness.at(610, "first0", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("CorePair 0", "I_E0S", "PrbInv")


# ---------------------------------------------------------------------- pairs and a GPU


def test_a_processor_sees_dirty_bytes_of_the_gpu() -> None:
    harness = apu()
    harness.at(10, "gpu0", "store", X, 0x11)
    load = harness.at(500, "first0", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("TCC", "W", "PrbShrData")


def test_a_writer_that_has_the_line_takes_dirty_bytes_along() -> None:
    harness = apu()
    harness.at(10, "first0", "load", X)
    harness.at(500, "gpu0", "store", X + 1, 0x11)  # stays in the shared cache, no cache is notified
    harness.at(1000, "first1", "load", X)
    harness.at(1500, "first0", "store", X + 2, 0x22)
    loads = [harness.at(2000, "first0", "load", X + i) for i in (0, 1, 2)]
    harness.run()
    assert [load.value for load in loads] == [harness.initial(X), 0x11, 0x22]
    assert harness.ran("CorePair 0", "S_M0", "NB_AckM")


@pytest.mark.parametrize("late", ["pair", "TCC"])
def test_bytes_of_the_gpu_lie_over_the_line_of_a_pair(late: str) -> None:
    """Whichever answers the probe first."""
    harness = apu()
    harness.at(10, "first0", "store", X, 0x11)
    harness.at(500, "gpu0", "store", X + 1, 0x22)
    sender = "CorePair0.responseFromCore" if late == "pair" else "TCC0.responseToNB"
    harness.hold(sender, "Directory 0", X, 500)
    read = harness.at(1000, "dma0", "load", X, size=2)
    harness.run()
    assert read.value == 0x2211


def test_a_victim_of_the_gpu_meets_the_line_of_a_pair() -> None:
    harness = apu()
    harness.at(10, "gpu0", "store", X + 1, 0x22)
    harness.at(500, "first0", "store", X, 0x11)  # takes the dirty byte along
    harness.at(1000, "gpu1", "store", X + 2, 0x33)
    harness.at(1500, "gpu1", "flush", X)
    loads = [harness.at(2500, "second1", "load", X + i) for i in range(3)]
    harness.run()
    assert [load.value for load in loads] == [0x11, 0x22, 0x33]
    assert harness.ran("Directory", "BL", "CPUDataTCC")


def test_nobody_is_alone_beside_the_gpu() -> None:
    harness = apu(write_back=False)
    harness.at(10, "gpu0", "load", X)
    harness.at(500, "first0", "load", X)
    harness.at(1000, "first0", "store", X, 0x11)
    harness.at(1500, "gpu0", "acquire")
    load = harness.at(1600, "gpu0", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("TCC", "V", "PrbInv")
    assert not harness.ran("CorePair 0", "I_E0S", "NB_AckE")


def test_a_store_of_the_gpu_is_complete_when_no_pair_has_an_old_copy() -> None:
    harness = apu(write_back=False)
    harness.at(10, "first0", "load", X)
    harness.hold("Directory0.probeToCore", "CorePair 0", X, 500)
    store = harness.at(500, "gpu0", "store", X, 0x11)
    old = harness.at(700, "first0", "load", X)
    load = harness.at(2000, "first0", "load", X)
    harness.run()
    assert store.done > 1000
    assert (old.value, load.value) == (harness.initial(X), 0x11)


def test_system_scope_atomic_operation_on_a_line_of_a_pair() -> None:
    harness = apu()
    harness.at(10, "first0", "atomic", X, 1, size=4)
    gpu = harness.at(500, "gpu0", "atomic", X, 1, size=4, slc=True)
    cpu = harness.at(1500, "second1", "atomic", X, 1, size=4)
    harness.run()
    first = sum(harness.initial(X + i) << 8 * i for i in range(4))
    assert (gpu.value, cpu.value) == (first + 1, first + 2)
    assert harness.ran("Directory", "BP_A", "Line")


def test_dma_write_between_two_owners() -> None:
    harness = apu()
    harness.at(10, "first0", "store", [X], [0x11])
    harness.at(500, "dma0", "store", X + 1, 0x22)
    loads = [harness.at(1500, who, "load", X + i) for i, who in enumerate(("gpu0", "second0"))]
    harness.run()
    assert [load.value for load in loads] == [0x11, 0x22]
