"""The races of cache pairs in docs/protocols.md, among themselves and with a GPU.

``first0`` is core 0 of pair 0, ``second0`` its core 1.
"""

from __future__ import annotations

import pytest

from tests.protocols.harness import Stage

X = 0x1000
OTHER = X + 0x10000
"""A line of the same sets."""
ONE_FRAME = {"sets": 1, "ways": 1}
SMALL_PAIRS = {
    "machine__CorePair__cache__L2cache": ONE_FRAME,
    "machine__CorePair__cache__L1D0cache": ONE_FRAME,
}
THREE_PAIRS = {"machine__CorePair__count": 3}


def pairs(**settings: object) -> Stage:
    return Stage("MOESI_AMD_Base", **THREE_PAIRS, **settings)


def apu(write_back: bool = True, **settings: object) -> Stage:
    return Stage("GPU_VIPER_APU", machine__TCC__parameters__WB=write_back, **settings)


# ---------------------------------------------------------------------- pairs among themselves


def test_a_reader_alone_may_write() -> None:
    stage = pairs()
    stage.at(10, "first0", "load", X)
    store = stage.at(500, "second0", "store", X, 0x5A)
    load = stage.at(1000, "first1", "load", X)
    stage.run()
    assert store.done == store.accepted < 520
    assert load.value == 0x5A
    assert stage.ran("CorePair 0", "Es", "C1_Store_L1miss")
    assert stage.ran("CorePair 0", "M1", "PrbShrData")


def test_cores_of_a_pair_see_each_other_at_once() -> None:
    stage = pairs()
    stage.at(10, "first0", "store", X, 0x11)
    seen = stage.at(500, "second0", "load", X)
    stage.at(510, "second0", "store", X, 0x22)
    again = stage.at(520, "first0", "load", X)
    stage.run()
    assert (seen.value, again.value) == (0x11, 0x22)
    assert again.done < 530


def test_dirty_lines_are_read_and_stay() -> None:
    """O: read by others, written to memory by nobody, written again by its owner."""
    stage = pairs()
    stage.at(10, "first0", "store", X, 0x11)
    load = stage.at(500, "first1", "load", X)
    assert stage.system.memory.read_line(X) & 0xFF == stage.initial(X)
    stage.at(1000, "second0", "store", X, 0x22)
    again = stage.at(1500, "first1", "load", X)
    stage.run()
    assert (load.value, again.value) == (0x11, 0x22)
    assert stage.system.memory.read_line(X) & 0xFF == stage.initial(X)
    assert stage.ran("CorePair 0", "O_M1", "NB_AckM")


@pytest.mark.parametrize("owner", [False, True])
def test_a_store_is_overtaken(owner: bool) -> None:
    stage = pairs()
    stage.at(10, "first0", "store" if owner else "load", X, 0x33 if owner else ())
    stage.at(300, "first1", "load", X)
    stage.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)
    stage.at(600, "first0", "store", X + 1, 0x11)
    stage.at(700, "first1", "store", X + 2, 0x22)
    loads = [stage.at(2500, "first2", "load", X + i) for i in range(3)]
    stage.run()
    first = 0x33 if owner else stage.initial(X)
    assert [load.value for load in loads] == [first, 0x11, 0x22]
    assert stage.ran("CorePair 0", "O_M0" if owner else "S_M0", "PrbInv")
    assert stage.ran("CorePair 0", "I_M0", "NB_AckM")


@pytest.mark.parametrize("what", ["load", "store"])
def test_a_victim_is_probed(what: str) -> None:
    stage = pairs(**SMALL_PAIRS)
    stage.at(10, "first0", "store", X, 0x11)
    stage.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)  # VicDirty
    stage.at(300, "first0", "load", OTHER)
    stage.at(400, "first1", what, X + 1, () if what == "load" else 0x22)
    load = stage.at(2000, "first2", "load", X)
    stage.run()
    assert load.value == 0x11
    assert stage.ran("CorePair 0", "I_C" if what == "store" else "MO_I", "NB_AckWB")


def test_a_probe_meets_a_line_that_was_dropped() -> None:
    stage = pairs(**SMALL_PAIRS)
    stage.at(10, "first0", "load", X)
    stage.at(300, "first0", "load", OTHER)  # drops X without a word
    stage.at(600, "first1", "store", X, 0x11)
    stage.hold("CorePair0.requestFromCore", "Directory 0", X, 0, 500)
    load = stage.at(610, "first0", "load", X)
    stage.run()
    assert load.value == 0x11
    assert stage.ran("CorePair 0", "I_E0S", "PrbInv")


# ---------------------------------------------------------------------- pairs and a GPU


def test_a_processor_sees_dirty_bytes_of_the_gpu() -> None:
    stage = apu()
    stage.at(10, "gpu0", "store", X, 0x11)
    load = stage.at(500, "first0", "load", X)
    stage.run()
    assert load.value == 0x11
    assert stage.ran("TCC", "W", "PrbShrData")


def test_a_writer_that_has_the_line_takes_dirty_bytes_along() -> None:
    stage = apu()
    stage.at(10, "first0", "load", X)
    stage.at(500, "gpu0", "store", X + 1, 0x11)  # stays in the shared cache, nobody is told
    stage.at(1000, "first1", "load", X)
    stage.at(1500, "first0", "store", X + 2, 0x22)
    loads = [stage.at(2000, "first0", "load", X + i) for i in (0, 1, 2)]
    stage.run()
    assert [load.value for load in loads] == [stage.initial(X), 0x11, 0x22]
    assert stage.ran("CorePair 0", "S_M0", "NB_AckM")


@pytest.mark.parametrize("late", ["pair", "TCC"])
def test_bytes_of_the_gpu_lie_over_the_line_of_a_pair(late: str) -> None:
    """Whichever answers the probe first."""
    stage = apu()
    stage.at(10, "first0", "store", X, 0x11)
    stage.at(500, "gpu0", "store", X + 1, 0x22)
    sender = "CorePair0.responseFromCore" if late == "pair" else "TCC0.responseToNB"
    stage.hold(sender, "Directory 0", X, 500)
    read = stage.at(1000, "dma0", "load", X, size=2)
    stage.run()
    assert read.value == 0x2211


def test_a_victim_of_the_gpu_meets_the_line_of_a_pair() -> None:
    stage = apu()
    stage.at(10, "gpu0", "store", X + 1, 0x22)
    stage.at(500, "first0", "store", X, 0x11)  # takes the dirty byte along
    stage.at(1000, "gpu1", "store", X + 2, 0x33)
    stage.at(1500, "gpu1", "flush", X)
    loads = [stage.at(2500, "second1", "load", X + i) for i in range(3)]
    stage.run()
    assert [load.value for load in loads] == [0x11, 0x22, 0x33]
    assert stage.ran("Directory", "BL", "CPUDataTCC")


def test_nobody_is_alone_beside_the_gpu() -> None:
    stage = apu(write_back=False)
    stage.at(10, "gpu0", "load", X)
    stage.at(500, "first0", "load", X)
    stage.at(1000, "first0", "store", X, 0x11)
    stage.at(1500, "gpu0", "acquire")
    load = stage.at(1600, "gpu0", "load", X)
    stage.run()
    assert load.value == 0x11
    assert stage.ran("TCC", "V", "PrbInv")
    assert not stage.ran("CorePair 0", "I_E0S", "NB_AckE")


def test_a_store_of_the_gpu_is_complete_when_no_pair_has_an_old_copy() -> None:
    stage = apu(write_back=False)
    stage.at(10, "first0", "load", X)
    stage.hold("Directory0.probeToCore", "CorePair 0", X, 500)
    store = stage.at(500, "gpu0", "store", X, 0x11)
    old = stage.at(700, "first0", "load", X)
    load = stage.at(2000, "first0", "load", X)
    stage.run()
    assert store.done > 1000
    assert (old.value, load.value) == (stage.initial(X), 0x11)


def test_system_scope_atomic_operation_on_a_line_of_a_pair() -> None:
    stage = apu()
    stage.at(10, "first0", "atomic", X, 1, size=4)
    gpu = stage.at(500, "gpu0", "atomic", X, 1, size=4, slc=True)
    cpu = stage.at(1500, "second1", "atomic", X, 1, size=4)
    stage.run()
    first = sum(stage.initial(X + i) << 8 * i for i in range(4))
    assert (gpu.value, cpu.value) == (first + 1, first + 2)
    assert stage.ran("Directory", "BP_A", "Line")


def test_dma_write_between_two_owners() -> None:
    stage = apu()
    stage.at(10, "first0", "store", [X], [0x11])
    stage.at(500, "dma0", "store", X + 1, 0x22)
    loads = [stage.at(1500, who, "load", X + i) for i, who in enumerate(("gpu0", "second0"))]
    stage.run()
    assert [load.value for load in loads] == [0x11, 0x22]
