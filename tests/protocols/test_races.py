"""The races that GPU_VIPER must win, one test each, with the late message named.

The names R1 to R8 are those of docs/protocols.md.
"""

from __future__ import annotations

import pytest

from tests.protocols.harness import Harness

X = 0x1000
"""The contended line; its bank is the first one."""
OTHER = X + 0x10000
THIRD = X + 0x20000
"""Lines of the same sets everywhere."""

ONE_BANK = {"machine__TCC__count": 1, "machine__Directory__count": 1}
WRITE_BACK = {"machine__TCC__parameters__WB": True}


@pytest.fixture(params=[False, True], ids=["write-through", "write-back"])
def harness(request: pytest.FixtureRequest) -> Harness:
    return Harness("GPU_VIPER", **ONE_BANK, machine__TCC__parameters__WB=request.param)


def test_r1_store_passes_a_fill_of_the_shared_cache() -> None:
    harness = Harness("GPU_VIPER", **ONE_BANK)
    harness.hold("Directory0.responseToCore", "TCC 0", X, 500)
    harness.at(10, "gpu0", "load", X)
    harness.at(60, "gpu1", "load", X + 1)
    store = harness.at(200, "gpu2", "store", X + 2, 0x5A)
    harness.at(1000, "gpu3", "acquire")
    late = harness.at(1100, "gpu3", "load", [X + 2, X + 3])
    harness.run()
    assert store.done < 450, "the store does not wait for the fill"
    assert late.values == [0x5A, harness.initial(X + 3)]
    assert harness.ran("TCC", "IV", "WrVicBlk")


def test_r2_fill_goes_around_dirty_bytes() -> None:
    harness = Harness("GPU_VIPER", **ONE_BANK, **WRITE_BACK)
    harness.hold("Directory0.responseToCore", "TCC 0", X, 500)
    harness.at(10, "gpu0", "store", X, 0x11)
    first = harness.at(100, "gpu1", "load", [X, X + 1])
    harness.at(300, "gpu2", "store", X + 1, 0x22)
    last = harness.at(1500, "gpu3", "load", [X, X + 1, X + 2])
    harness.run()
    assert first.values == [0x11, harness.initial(X + 1)]
    assert last.values == [0x11, 0x22, harness.initial(X + 2)]
    assert harness.ran("TCC", "IV", "DataDirty")


@pytest.mark.parametrize("before", ["nothing", "load", "store", "both"])
def test_r3_system_scope_store_completes(harness: Harness, before: str) -> None:
    if before in ("store", "both"):
        harness.at(10, "gpu0", "store", X, 0x11)
    if before in ("load", "both"):
        harness.at(200, "gpu1", "load", X + 1)
    store = harness.at(500, "gpu2", "store", X + 2, 0x33, slc=True)
    dma = harness.at(1000, "dma0", "load", X, size=3)
    harness.run()
    assert store.done > 0
    first = 0x11 if before in ("store", "both") else harness.initial(X)
    assert dma.value == first | harness.initial(X + 1) << 8 | 0x33 << 16


def test_r4_dma_of_a_line_in_the_memory_side_cache() -> None:
    harness = Harness(
        "GPU_VIPER",
        **ONE_BANK,
        **WRITE_BACK,
        machine__TCC__cache__L2cache={"sets": 1, "ways": 1},
    )
    harness.at(10, "gpu0", "store", list(range(X, X + 64)), list(range(64)))
    harness.at(300, "gpu0", "store", OTHER, 1)  # pushes the full dirty line out, into the L3
    read = harness.at(1000, "dma0", "load", X, size=4)
    harness.at(1500, "dma0", "store", X + 1, 0xBEEF, size=2)
    again = harness.at(2000, "dma0", "load", X, size=4)
    gpu = harness.at(2500, "gpu1", "load", [X, X + 1, X + 2, X + 3])
    harness.run()
    assert read.value == 0x03020100
    assert again.value == 0x03BEEF00
    assert gpu.values == [0, 0xEF, 0xBE, 3]
    assert harness.ran("Directory", "BL", "CPUDataL3")
    assert harness.ran("Directory", "BP_R", "PrbRespL3")
    assert harness.ran("Directory", "BP_W", "PrbRespL3")


def test_r5_flush_waits_for_its_own_write(harness: Harness) -> None:
    """Older writes are acknowledged while it waits, and others want the line."""
    for offset in range(0, 8, 2):
        harness.at(10 + offset, "gpu0", "store", X + offset, 0x40 + offset)
    flush = harness.at(12, "gpu1", "flush", X)
    store = harness.at(14, "gpu2", "store", X + 1, 0x77)
    dma = harness.at(16, "dma0", "load", X + 32, size=1)
    done_at_flush: list[int] = []
    system = harness.system

    def look() -> None:
        done_at_flush.append(system.memory.read_line(X))

    client = harness.clients[4]
    assert client.result is flush
    closing = client._close

    def close(count: int) -> None:
        closing(count)
        look()

    client._close = close  # type: ignore[method-assign]
    harness.run()
    assert done_at_flush[0] & 0xFF == 0x40
    assert store.done > 0
    assert dma.value == harness.initial(X + 32)


def test_flush_writes_the_memory_side_cache_back() -> None:
    harness = Harness("GPU_VIPER", **ONE_BANK, machine__Directory__parameters__useL3OnWT=True)
    harness.at(10, "gpu0", "store", [X, X + 9], [0x11, 0x22])
    harness.at(500, "gpu1", "flush", X)
    harness.run()
    line = harness.system.memory.read_line(X)
    assert (line & 0xFF, line >> 72 & 0xFF) == (0x11, 0x22)


def test_r6_dma_sees_and_replaces_dirty_bytes() -> None:
    harness = Harness("GPU_VIPER", **ONE_BANK, **WRITE_BACK)
    harness.at(10, "gpu0", "store", [X, X + 5], [0x11, 0x55])
    read = harness.at(300, "dma0", "load", X, size=8)
    harness.at(600, "dma0", "store", X, 0x99, size=1)
    harness.at(900, "gpu1", "acquire")
    gpu = harness.at(1000, "gpu1", "load", [X, X + 5, X + 6])
    harness.run()
    assert read.value & 0xFFFF == 0x11 | harness.initial(X + 1) << 8
    assert read.value >> 40 & 0xFF == 0x55
    assert gpu.values == [0x99, 0x55, harness.initial(X + 6)]
    assert harness.ran("TCC", "W", "PrbShrData")
    assert harness.ran("TCC", "W", "PrbInv")


def test_r7_instruction_cache_asks_again_after_an_acquire(harness: Harness) -> None:
    """The late line would also answer the read that came after the acquire."""
    harness.hold("TCC0.responseToCore", "SQC 0", X, 800)
    first = harness.at(10, "instructions0", "load", X + 1)
    harness.at(200, "gpu0", "store", X, 0x5A)
    harness.at(400, "gpu1", "acquire")  # walks the instruction cache as well
    second = harness.at(500, "instructions0", "load", X)
    harness.run()
    assert first.value == harness.initial(X + 1)
    assert second.value == 0x5A
    assert harness.ran("SQC", "IV", "Evict")
    assert harness.ran("SQC", "IX", "TCC_Ack")


def test_r8_late_fill_does_not_outlive_an_acquire(harness: Harness) -> None:
    harness.hold("TCC0.responseToCore", "TCP 0", X, 800)
    first = harness.at(10, "gpu0", "load", X + 1)
    harness.at(200, "gpu1", "store", X, 0x5A)
    acquire = harness.at(400, "gpu0", "acquire")
    second = harness.at(500, "gpu0", "load", X)
    harness.run()
    assert acquire.done < 500, "an acquire does not wait for fills"
    assert first.value == harness.initial(X + 1)
    assert second.value == 0x5A
    assert harness.ran("TCP", "IV", "Evict")


def test_fill_overtaken_by_a_probe_is_not_kept(harness: Harness) -> None:
    harness.hold("Directory0.responseToCore", "TCC 0", X, 800)
    harness.at(10, "gpu0", "load", X + 1)
    dma = harness.at(200, "dma0", "store", X, 0x5A, size=1)
    harness.at(500, "gpu1", "acquire")
    second = harness.at(510, "gpu1", "load", X)
    harness.run()
    assert dma.done < 500
    assert second.value == 0x5A
    assert harness.ran("TCC", "IVS", "Data")


def test_atomic_fill_overtaken_by_a_probe_is_asked_for_again(harness: Harness) -> None:
    harness.hold("Directory0.responseToCore", "TCC 0", X, 800)
    harness.at(10, "gpu0", "atomic", X, 1, size=4)
    harness.at(200, "dma0", "store", X + 4, 0x5A, size=1)
    second = harness.at(1500, "gpu1", "load", X + 4)
    harness.run()
    assert second.value == 0x5A
    assert harness.ran("TCC", "IA", "PrbInv")


def test_victim_does_not_overwrite_a_dma_write() -> None:
    """The probe finds the line on its way out; what it took is not sent a second time."""
    harness = Harness(
        "GPU_VIPER",
        **ONE_BANK,
        **WRITE_BACK,
        machine__TCC__cache__L2cache={"sets": 1, "ways": 1},
    )
    harness.at(10, "gpu0", "store", [X, X + 1], [0x11, 0x22])
    harness.hold("TCC0.requestToNB", "Directory 0", X, 800)  # the announcement of the victim
    harness.at(300, "gpu0", "store", OTHER, 1)
    harness.at(400, "dma0", "store", X, 0x99, size=1)
    read = harness.at(2500, "dma0", "load", X, size=2)
    harness.run()
    assert read.value == 0x2299
    assert harness.ran("TCC", "WI", "PrbInv")


def test_request_waits_for_a_write_back() -> None:
    harness = Harness(
        "GPU_VIPER",
        **ONE_BANK,
        **WRITE_BACK,
        machine__TCC__cache__L2cache={"sets": 1, "ways": 1},
    )
    harness.at(10, "gpu0", "store", X, 0x11)
    harness.hold("Directory0.responseToCore", "TCC 0", X, 800)  # leave to write back
    harness.at(300, "gpu0", "store", OTHER, 1)
    load = harness.at(400, "gpu1", "load", X)
    harness.run()
    assert load.value == 0x11
    assert harness.ran("TCC", "WI", "RdBlk")


def test_store_behind_a_system_scope_store_of_the_same_byte(harness: Harness) -> None:
    """Found by test_contention: the second store must not pass the first in the shared cache."""
    harness.hold("Directory0.responseToCore", "TCC 0", X, 300)
    harness.at(10, "gpu1", "atomic", X + 8, 1, size=4)
    harness.at(50, "gpu0", "store", X, 0x66, slc=True)
    harness.at(60, "gpu0", "store", X, 0xFE)
    load = harness.at(2000, "gpu2", "load", X)
    harness.run()
    assert load.value == 0xFE


def test_store_that_finds_every_frame_under_way() -> None:
    """It goes through instead of waiting for another line, where a load would pass it."""
    harness = Harness(
        "GPU_VIPER",
        **ONE_BANK,
        **WRITE_BACK,
        machine__TCC__cache__L2cache={"sets": 1, "ways": 2},
    )
    harness.hold("Directory0.responseToCore", "TCC 0", OTHER, 800)
    harness.at(10, "gpu1", "load", OTHER)
    harness.at(20, "gpu2", "load", THIRD)
    harness.at(30, "gpu0", "store", X, 0x42)
    harness.at(300, "gpu2", "flush", THIRD)  # frees a frame
    load = harness.at(500, "gpu0", "load", X)
    harness.run()
    assert load.value == 0x42
    assert harness.ran("TCC", "I", "WrVicBlkEvict")


def test_mixed_scopes_of_one_counter(harness: Harness) -> None:
    """Increments by the shared cache and by the directory are one sequence."""
    results = [
        harness.at(10 + 7 * i, f"gpu{i % 4}", "atomic", X, 1, size=4, slc=i % 3 == 0)
        for i in range(24)
    ]
    harness.at(5000, "gpu0", "flush", X)
    harness.run()
    first = sum(harness.initial(X + i) << 8 * i for i in range(4))
    assert sorted(result.value - first for result in results) == list(range(24))
    assert harness.system.memory.read_line(X) & 0xFFFFFFFF == first + 24


def test_whole_line_store_needs_no_fill() -> None:
    harness = Harness("GPU_VIPER", **ONE_BANK, **WRITE_BACK)
    whole = list(range(64))
    for start, line in ((10, X), (20, OTHER)):
        if line == OTHER:
            harness.at(start, "gpu1", "store", line, 0xFF)
        harness.at(start + 100, "gpu0", "store", [line + i for i in whole], whole)
    loads = [harness.at(500, "gpu2", "load", [line, line + 63]) for line in (X, OTHER)]
    harness.run()
    assert [load.values for load in loads] == [[0, 63], [0, 63]]
    assert harness.ran("TCC", "I", "WrVicBlkWhole")
    assert harness.ran("TCC", "W", "WrVicBlkWhole")
    assert not harness.ran("Directory", "U", "RdBlk")


def test_answer_of_an_atomic_means_that_dma_sees_it(harness: Harness) -> None:
    harness.at(10, "gpu0", "load", X)
    harness.hold("TCC0.requestToNB", "Directory 0", X, 400)
    atomic = harness.at(200, "gpu0", "atomic", [X, X + 4, X + 16], [1, 1, 1], size=4)
    harness.run()
    read = harness.at(harness.system.engine.now + 1, "dma0", "load", X, size=20)
    harness.run()
    old = [read.value >> 8 * i & 0xFFFFFFFF for i in (0, 4, 16)]
    assert [value + 1 & 0xFFFFFFFF for value in atomic.values] == old
