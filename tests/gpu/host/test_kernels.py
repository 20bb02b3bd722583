"""Compiled kernels from a user queue to their results, on both kinds of compute units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu import Buffer, Device, LocalBytes, Signal
from gpu.code_object import ArgumentError
from gpu.errors import HostError, KernelError, NoProgressError
from gpu.host.device_core import Options
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from gpu.packet_processor.fences import Obey
from gpu.trace import Trace
from tests.gpu.host.devices import viper, with_pipelines, without_time
from tests.gpu.kernels.stored import stored
from tests.gpu.memory.coherent.opened import python_memory


def with_caches() -> Device:
    return Device(memory=python_memory(viper()))


@pytest.fixture(
    params=[without_time, with_pipelines, with_caches], ids=["functional", "timed", "coherent"]
)
def device(request: pytest.FixtureRequest) -> Device:
    return request.param()  # type: ignore[no-any-return]


@pytest.mark.parametrize("built", ["clang14-O2", "clang19-O2", "clang14-O0", "clang14-O2-v2"])
def test_vadd(device: Device, built: str) -> None:
    """The example of the documentation, with a group that is not full."""
    count = 300
    x, y = np.linspace(0, 1, count, dtype=np.float32), np.arange(count, dtype=np.float32)
    a, b, c = device.alloc(x), device.alloc(y), device.alloc_like(x)
    done, after = Signal(1), Signal(1)
    queue = device.create_queue()
    code = stored("vadd", built)
    queue.dispatch(code["vadd"], grid=count, group=256, args=[a, b, c, count], completion=done)
    queue.barrier_and([done], completion=after)
    queue.ring()
    device.run(until=after)
    np.testing.assert_array_equal(c.numpy(), x + y)
    assert done.value == after.value == 0


@pytest.mark.parametrize("built", ["clang14-O2", "clang19-O2", "clang14-O0"])
@pytest.mark.parametrize("doorbell", ["plain", "legacy"])
def test_a_kernel_dispatches_a_kernel(device: Device, built: str, doorbell: str) -> None:
    """It writes an AQL packet into its own queue and stores to the doorbell's address."""
    queue = device.create_queue(doorbell=doorbell)
    child = device.loaded_kernel(stored("vadd")["vadd_i"])
    x = np.arange(100, dtype=np.int32)
    a, b, c = device.alloc(x), device.alloc(x[::-1]), device.alloc_like(x)
    arguments = device.arguments(np.array([a.address, b.address, c.address], np.uint64).tobytes())
    done = device.signal(1)
    queue.dispatch(
        stored("device_hsa", built)["enqueue"],
        64,
        64,
        [queue.address, child.object_address, arguments, done.handle, 100],
    )
    queue.ring()
    device.run(until=done)
    device.run()
    assert c.numpy().tolist() == [99] * 100
    assert (queue.read_index, queue.write_index) == (2, 2)


def test_signals_in_kernels(device: Device) -> None:
    """Store, subtract and wait; each change is reported by mailbox and interrupt."""
    code, queue = stored("device_hsa"), device.create_queue()
    signal = device.signal(70)
    event = device.create_event(signal)
    queue.dispatch(code["signal_sub"], 64, 64, [signal.handle, 1])
    queue.ring()
    device.run()
    assert signal.value == 6 and event.count >= 1
    before = event.count
    queue.dispatch(code["signal_store"], 1, 1, [signal.handle, -3])
    queue.ring()
    device.run()
    assert signal.value == -3 and event.count == before + 1


def test_a_kernel_waits_for_the_host(device: Device) -> None:
    queue, signal, done = device.create_queue(), device.signal(9), Signal(1)
    out = device.alloc(np.zeros(1, np.int64))
    arguments = [signal.handle, 5, 1 << 40, out.address]
    queue.dispatch(stored("device_hsa")["signal_wait_lt"], 1, 1, arguments, completion=done)
    queue.ring()
    device.run(limit=500)
    assert done.value == 1
    signal.store(4)
    device.run(until=done)
    assert out.numpy().tolist() == [4]


def test_traps(device: Device) -> None:
    code, queue = stored("device_hsa"), device.create_queue()
    data, done = device.alloc(np.array([3] * 63 + [-3], np.int32)), Signal(1)
    queue.dispatch(code["debugtrapk"], 64, 64, [data], completion=done)
    queue.ring()
    device.run(until=done)
    assert data.numpy().tolist() == [4] * 63 + [-2]
    failed = Signal(1)
    queue.dispatch(code["trapk"], 64, 64, [data], completion=failed)
    queue.ring()
    with pytest.raises(KernelError, match=r"queue 0, packet 1: kernel trapk: .*s_trap"):
        device.run(until=failed)
    assert (failed.value, queue.state) == (ERROR_VALUE, QueueState.INACTIVE)
    assert all(unit.idle for unit in device.units)


def test_an_unmapped_address(device: Device) -> None:
    queue = device.create_queue()
    queue.dispatch(stored("vadd")["vadd"], 64, 64, [0x10, 0x10, 0x10, 64])
    queue.ring()
    with pytest.raises(KernelError, match="0x10"):
        device.run()


def shuffled(given: list[int], place: int, steps: int) -> int:
    """What the kernel ``scratch`` computes for one work-item, in its private array."""
    table = [given[(place + k) & 63] for k in range(64)]
    at = place & 63
    for k in range(steps):
        table[at] = table[(at * 7 + k) & 63] + k
        at = table[k & 63] & 63
    return table[at]


@pytest.mark.parametrize("built", ["clang14-O2", "clang19-O2"])
def test_private_memory(device: Device, built: str) -> None:
    """The pool grows to what the packet asks; slices of waves do not overlap."""
    count, steps = 70, 9
    given = np.random.default_rng(5).integers(0, 1000, 64, dtype=np.int32)
    data, done = device.alloc(given), Signal(1)
    out = device.alloc(np.zeros(count, np.int32))
    queue = device.create_queue()
    assert queue.field("compute_tmpring_size") == 0
    kernel = stored("scratch", built)["scratch"]
    queue.dispatch(kernel, count, 64, [data, out, steps], completion=done)
    queue.ring()
    device.run(until=done)
    expected = [shuffled(given.tolist(), place, steps) for place in range(count)]
    assert out.numpy().tolist() == expected
    assert queue.field("scratch_workitem_byte_size") >= kernel.descriptor.private_size
    assert queue.field("compute_tmpring_size") & 0xFFF == 80


@pytest.mark.parametrize(
    "built", ["clang14-O2", "clang19-O2", pytest.param("clang14-O0", marks=pytest.mark.matrix)]
)
def test_private_memory_of_several_groups(built: str) -> None:
    device = without_time()
    values = np.random.default_rng(5).integers(-1000, 1000, (160, 32), dtype=np.int32)
    data, done = device.alloc(values), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("scratch", built)["isort"], 160, 64, [data], completion=done)
    queue.ring()
    device.run(until=done)
    np.testing.assert_array_equal(data.numpy(), np.sort(values, axis=1))


@pytest.mark.parametrize("built", ["clang14-O2", "clang14-O2-v3", "clang19-O2", "clang19-O2-v6"])
def test_generic_pointers(device: Device, built: str) -> None:
    """Apertures from the queue object (to version 4) and from hidden arguments (from 5 on)."""
    given = np.arange(64, dtype=np.int32) + 100
    expected = {0: given[:8], 1: np.arange(8) * 3, 2: np.arange(8) + given[:8]}
    for selected, eight in expected.items():
        for name in ("gen3", "gen3_call"):
            data, out, done = device.alloc(given), device.alloc_like(given), Signal(1)
            queue = device.create_queue()
            queue.dispatch(
                stored("flatgen", built)[name], 64, 64, [data, out, selected], completion=done
            )
            queue.ring()
            device.run(until=done)
            np.testing.assert_array_equal(out.numpy(), np.tile(eight, 8))


def test_a_device_by_the_name_of_a_protocol() -> None:
    device = Device("GPU_VIPER", cus=3, tccs=2, seed=7, engine="python")
    assert len(device.units) == device.memory.ports.cus == 3
    x = np.arange(200, dtype=np.float32)
    a, c, done = device.alloc(x), device.alloc_like(x), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("vadd")["vadd"], 200, 64, [a, a, c, 200], completion=done)
    queue.ring()
    device.run(until=done)
    np.testing.assert_array_equal(c.numpy(), 2 * x)


def test_sizes_may_be_numbers_of_numpy() -> None:
    device = without_time()
    data = device.alloc(np.arange(64, dtype=np.int32))
    queue, kernel = device.create_queue(), stored("vadd")["vadd_i"]
    for grid in (np.int64(64), np.array([64, 1]), [np.uint8(64)]):
        queue.dispatch(kernel, grid, np.int32(32), [data, data, data])
    queue.ring()
    device.run()
    assert data.numpy().tolist() == [8 * place for place in range(64)]


def test_a_stack_without_bound_gets_room() -> None:
    device = without_time()
    queue = device.create_queue()
    loaded = device.loaded_kernel(stored("calls")["call_rec"])
    metadata = replace(loaded.kernel.metadata, uses_dynamic_stack=True)
    endless = replace(loaded, kernel=replace(loaded.kernel, metadata=metadata))
    for kernel in (loaded, endless):
        queue.dispatch(kernel, 64, 64, [device.alloc(np.ones(64, np.int32))])
    queue.ring()
    device.run()
    assert queue.field("scratch_workitem_byte_size") == 16 * 1024


def test_wrong_calls_say_what_is_wrong(device: Device) -> None:
    code, queue = stored("vadd"), device.create_queue()
    with pytest.raises(ArgumentError, match="takes 4 arguments, 3 are given"):
        queue.dispatch(code["vadd"], 64, 64, [0, 0, 0])
    with pytest.raises(ArgumentError, match="is a buffer"):
        queue.dispatch(code["vadd"], 64, 64, [LocalBytes(4), 0, 0, 64])
    with pytest.raises(HostError, match="1 to 3 dimensions, not 4"):
        queue.dispatch(code["vadd"], (1, 1, 1, 1), 64, [0, 0, 0, 64])
    with pytest.raises(HostError, match="'gpu' is no scope"):
        queue.dispatch(code["vadd"], 64, 64, [0, 0, 0, 64], acquire="gpu")
    with pytest.raises(HostError, match=r"kernel vadd: .*group_x has 2 bytes; 65536"):
        queue.dispatch(code["vadd"], 1 << 17, 1 << 16, [0, 0, 0, 64])
    with pytest.raises(HostError, match="power of two"):
        device.create_queue(48)
    with pytest.raises(HostError, match="mask 0xc has none of the 2"):
        device.create_queue(cu_mask=0b1100)
    with pytest.raises(HostError, match="belongs to another device"):
        queue.barrier_and([without_time().signal(1)])
    with pytest.raises(HostError, match="1 to 64 compute units, not 0"):
        Device(cus=0)
    with pytest.raises(HostError, match="functional, or runs on a protocol"):
        Device("GPU_VIPER", functional=True)
    with pytest.raises(HostError, match="no engine 'fast'; there are"):
        Device("GPU_VIPER", engine="fast")
    assert queue.write_index == 0


def test_waiting_in_vain(device: Device) -> None:
    with pytest.raises(NoProgressError, match="can never happen"):
        device.run(until=device.signal(1))
    with pytest.raises(NoProgressError, match="the condition can never happen"):
        device.run(until=lambda: False)
    assert device.signal(3).wait("==", 4, timeout=100) == 3


def test_packets_are_traced_and_counted() -> None:
    lines: list[str] = []
    device = Device(cus=1, trace=Trace(["packets"], lines.append))
    queue, done = device.create_queue(), Signal(1)
    data = device.alloc(np.arange(64, dtype=np.int32) - 3)
    queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [data, data, data], completion=done)
    queue.barrier_and([done])
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data])
    queue.ring()
    with pytest.raises(KernelError):
        device.run()
    reported = [line.split(": ", 1)[1].split(":")[0] for line in lines]
    assert reported[0] == "packet 0" and reported[-1] == "inactive"
    assert sum("kernel vadd_i is active, 1 groups" in line for line in lines) == 1
    assert device.stats["packets"] == {
        "launched": {"barrier and": 1, "kernel dispatch": 2},
        "completed": 2,
        "failed": 1,
        "stopped_queues": 1,
    }
    assert device.stats["compute_units"]["wave_instructions"] > 10  # type: ignore[index]


def test_checks_by_name() -> None:
    """Two groups store to the same words, and nothing orders them."""
    device = Device(cus=1, checks=["races"])
    words = device.alloc(np.zeros(4, np.int32))
    queue = device.create_queue()
    queue.dispatch(stored("litmus")["mp_rlx_dev"], 128, 64, [words, words, words])
    queue.ring()
    assert device.findings == []
    device.run()
    assert device.findings
    with pytest.raises(HostError, match="no check `race`"):
        Device(checks=["race"])


@pytest.mark.parametrize(
    ("acquire", "fences", "fresh"),
    [("none", Obey.HEADER, False), ("agent", Obey.HEADER, True), ("none", Obey.ALWAYS, True)],
)
def test_without_an_acquire_the_scalar_cache_is_stale(
    acquire: str, fences: Obey, fresh: bool
) -> None:
    """A kernel loads through the scalar cache what a kernel before it has changed since."""
    device = Device(memory=python_memory(viper()), options=Options(fences=fences))
    given = np.arange(64, dtype=np.int32) + 100
    data, out = device.alloc(given), device.alloc_like(given)
    queue = device.create_queue(cu_mask=1)

    def read(acquire: str) -> list[int]:
        done = Signal(1)
        queue.dispatch(
            stored("flatgen")["gen3"], 64, 64, [data, out, 2], completion=done, acquire=acquire
        )
        queue.ring()
        device.run(until=done)
        values: list[int] = (out.numpy()[:8] - np.arange(8)).tolist()
        return values

    assert read("agent") == given[:8].tolist()
    done = Signal(1)
    add = stored("vadd")["vadd_i"]
    queue.dispatch(add, 64, 64, [data, data, data], completion=done, acquire="none")
    queue.ring()
    device.run(until=done)
    assert read(acquire) == (given[:8] * (2 if fresh else 1)).tolist()


@pytest.mark.parametrize(("acquire", "fresh"), [("none", False), ("agent", True)])
def test_without_an_acquire_instructions_are_stale(acquire: str, fresh: bool) -> None:
    """The host writes `s_endpgm` over the first instruction of a kernel that has run."""
    device = Device(memory=python_memory(viper()))
    x = np.arange(64, dtype=np.int32)
    a, first, second = device.alloc(x), device.alloc_like(x), device.alloc_like(x)
    kernel = device.loaded_kernel(stored("vadd")["vadd_i"])
    queue = device.create_queue(cu_mask=1)
    for out, fence in ((first, "agent"), (second, acquire)):
        done = Signal(1)
        queue.dispatch(kernel, 64, 64, [a, a, out], completion=done, acquire=fence)
        queue.ring()
        device.run(until=done)
        device.settle()
        device.host.write(kernel.entry, bytes.fromhex("000081bf"))
    np.testing.assert_array_equal(first.numpy(), x * 2)
    np.testing.assert_array_equal(second.numpy(), x * (0 if fresh else 2))


def test_kernels_and_packet_processor_count_on_one_signal(device: Device) -> None:
    """Four kernels of 64 lanes subtract at the same time; each packet's completion does, too."""
    queues = [device.create_queue() for _ in range(2)]
    signal = device.signal(4 * 64 + 4)
    for packet in range(4):
        queues[packet % 2].dispatch(
            stored("device_hsa")["signal_sub"], 64, 64, [signal.handle, 1], completion=signal
        )
    for queue in queues:
        queue.ring()
    device.run(until=signal)
    assert signal.value == 0


def test_a_diamond_of_kernels(device: Device) -> None:
    """c = a + b; d = c + c and e = c + a beside each other; f = d + e. Agent scope is enough."""
    code, count = stored("vadd")["vadd_i"], 100
    a, b = (device.alloc(np.arange(count, dtype=np.int32) * k) for k in (1, 10))
    c, d, e, f = (device.alloc_like(a) for _ in range(4))
    queues = [device.create_queue() for _ in range(3)]
    made = [device.signal(1) for _ in range(4)]

    def add(queue: int, x: Buffer, y: Buffer, z: Buffer, place: int, after: list[int]) -> None:
        if after:
            queues[queue].barrier_and([made[other] for other in after])
        queues[queue].dispatch(
            code, count, 64, [x, y, z], completion=made[place], acquire="agent", release="agent"
        )

    add(2, d, e, f, 3, after=[1, 2])
    add(1, c, a, e, 2, after=[0])
    add(0, a, b, c, 0, after=[])
    add(0, c, c, d, 1, after=[0])
    for queue in queues:
        queue.ring()
    device.run(until=made[3])
    ones = np.arange(count, dtype=np.int32)
    np.testing.assert_array_equal(f.numpy(), 22 * ones + 12 * ones)
