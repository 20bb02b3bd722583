"""Every rule of packets broken once: the message, and the state of packet and queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gpu.errors import GpuError, PacketError, QueueError
from gpu.hsa.aql import Header, KernelDispatch, PacketType
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from gpu.memory.address_space import Unmapped
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.harness import Bench

Change = Callable[[bytearray], None]


def put(offset: int, value: int, size: int) -> Change:
    def change(data: bytearray) -> None:
        data[offset : offset + size] = value.to_bytes(size, "little")

    return change


@dataclass
class Case:
    """One broken rule. ``kernel``: which stored kernel the packet names."""

    rule: str
    change: Change
    kernel: tuple[str, str] = ("vadd", "vadd")
    options: dict[str, int] = field(default_factory=dict)


def run_packet(case: Case) -> tuple[Bench, GpuError, int, QueueState]:
    """The bench, the queue's error, the completion signal's value, the queue's state."""
    bench = Bench()
    kernel = bench.device.load(stored(case.kernel[0]))[case.kernel[1]]
    errors: list[GpuError] = []
    queue = bench.device.create_queue(
        4, on_error=lambda _, error: errors.append(error), **case.options
    )
    done = bench.device.signal(1)
    metadata = kernel.kernel.metadata
    packet = KernelDispatch(
        header=Header(PacketType.KERNEL_DISPATCH),
        setup=1,
        group=metadata.required_group or (64, 1, 1),
        grid=(256, 1, 1),
        group_bytes=kernel.kernel.descriptor.group_size,
        private_bytes=kernel.kernel.descriptor.private_size,
        kernel_object=kernel.object_address,
        kernarg=bench.device.arguments(bytes(256)),
        completion=done.handle,
    )
    data = bytearray(packet.pack())
    case.change(data)
    queue.write(queue.reserve(), bytes(data))
    queue.ring()
    bench.device.run()
    assert len(errors) <= 1, "a queue reports one error"
    return bench, errors[0] if errors else GpuError("none"), done.value, queue.state


PACKET_RULES = [
    Case("has 1, 2 or 3 dimensions, not 0", put(2, 0, 2)),
    Case("group and grid in y are 1 in 1 dimensions, not 2 and 1", put(6, 2, 2)),
    Case("group and grid in z are 1 in 1 dimensions, not 1 and 3", put(20, 3, 4)),
    Case("the group's size in x is at least 1, not 0", put(4, 0, 2)),
    Case("the group's size in z is at least 1, not 0", put(8, 0, 2)),
    Case("the grid's size in x is at least 1, not 0", put(12, 0, 4)),
    Case("the grid's size in y is at least 1, not 0", put(16, 0, 4)),
    Case("a group has at most 256 work-items, not 257", put(4, 257, 2)),
    Case("LDS is at least the kernel's", put(28, 0, 4), ("reduce", "reduce_lds")),
    Case("LDS is at most 65536 bytes, not 65537", put(28, 65537, 4)),
    Case("has at least the kernel's", put(24, 0, 4), ("scratch", "isort")),
    Case("has at most 131056 private bytes, not 131057", put(24, 131057, 4)),
    Case("kernel object is 64-byte aligned", put(32, (1 << 32) + 32, 8)),
    Case("kernel object lies in a loaded code object, not 0x40", put(32, 0x40, 8)),
    Case("argument segment is 16-byte aligned, not 0x8", put(40, 8, 8)),
    Case("a kernel with arguments has an argument segment", put(40, 0, 8)),
    Case("the queue takes kernel dispatch packets", lambda data: None, options={"features": 2}),
    Case("the kernel's groups are 128 by 1 by 1, not 64 by", put(4, 64, 2), ("litmus", "mp_lds")),
]


@pytest.mark.parametrize("case", PACKET_RULES, ids=lambda case: case.rule)
def test_a_packet_error(case: Case) -> None:
    """The packet completes as an error, then the queue is inactive."""
    bench, error, value, state = run_packet(case)
    assert isinstance(error, PacketError)
    assert case.rule in str(error)
    assert str(error).startswith("queue 0, packet 0: ")
    assert value == ERROR_VALUE
    assert state is QueueState.INACTIVE
    assert not bench.log, "nothing may have been started"


QUEUE_RULES = [
    Case("types are 2 to 5, not 0", put(0, 0, 1)),
    Case("one of 2, 3, 4 and 5, not 6", put(0, 6, 1)),
    Case("one of 2, 3, 4 and 5, not 255", put(0, 255, 1)),
    Case("bits 15:13 of the header are reserved and 0, not 0x1", put(1, 0x20, 1)),
    Case("scope of the acquire fence is 0, 1 or 2, not 3", put(1, 0x06, 1)),
    Case("scope of the release fence is 0, 1 or 2, not 3", put(1, 0x18, 1)),
    Case("bits 15:2 of the setup word are reserved and 0, not 0x5", put(2, 5, 2)),
    Case("bits 15:2 of the setup word are reserved and 0, not 0x101", put(2, 0x101, 2)),
    Case("byte 10 of a kernel dispatch packet is reserved and 0, not 0x1", put(10, 1, 1)),
    Case("byte 55 of a kernel dispatch packet is reserved and 0, not 0x80", put(55, 0x80, 1)),
]


@pytest.mark.parametrize("case", QUEUE_RULES, ids=lambda case: case.rule)
def test_a_queue_error(case: Case) -> None:
    """The bytes are no packet: nothing completes, the packet stays for inspection."""
    bench, error, value, state = run_packet(case)
    assert isinstance(error, QueueError)
    assert case.rule in str(error)
    assert value == 1
    assert state is QueueState.INACTIVE
    assert not bench.log


def test_reserved_bytes_of_other_packets() -> None:
    for kind, offset in ((PacketType.BARRIER_AND, 2), (PacketType.AGENT_DISPATCH, 48)):
        bench = Bench()
        queue = bench.device.create_queue()
        data = bytearray(64)
        data[0], data[offset] = kind, 1
        queue.write(queue.reserve(), bytes(data))
        queue.ring()
        with pytest.raises(QueueError, match=f"byte {offset} of"):
            bench.device.run()


def test_a_completion_signal_that_cannot_be() -> None:
    _, error, value, state = run_packet(Case("", put(56, 0x1008, 8)))
    assert "completion signal is 64-byte aligned, not 0x1008" in str(error)
    assert (value, state) == (1, QueueState.INACTIVE)


def test_a_completion_signal_that_is_not_mapped() -> None:
    """It is checked when the packet completes, so the kernel has run."""
    bench, error, _, state = run_packet(Case("", put(56, 0x40, 8)))
    assert isinstance(error, PacketError) and isinstance(error.value, Unmapped)
    assert str(error).startswith("queue 0, packet 0: ") and "0x40" in str(error)
    assert state is QueueState.INACTIVE
    assert len(bench.events("end")) == 4


def test_a_kernel_for_another_processor() -> None:
    bench = Bench()
    kernel = bench.device.load(stored("vadd", "clang19-O2-gfx1030"))["vadd"]
    queue = bench.device.create_queue()
    queue.dispatch(kernel, 64, 64, [0, 0, 0, 64])
    queue.ring()
    with pytest.raises(PacketError, match=r"kernel vadd: .*compiled for gfx1030"):
        bench.device.run()
