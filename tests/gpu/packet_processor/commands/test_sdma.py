"""SDMA commands: what each does through which port, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu import Device
from gpu.errors import NoProgressError, QueueError
from gpu.host.kfd.driver import Driver, QueueType
from gpu.hsa.queue_state import QueueState
from gpu.memory.interface import MemoryRequest, PortKind
from gpu.packet_processor.commands.sdma_layouts import LAYOUTS, NO_LIMIT, OPERATIONS, Opcode, pack
from runtime.types.atomic_op import AtomicOp
from tests.gpu.host.processors.devices import launched, opened
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.commands.ring import DWORDS, CommandRing
from tests.gpu.packet_processor.harness import Bench


class SdmaRing(CommandRing):
    """With some memory to work on."""

    def __init__(self, driver: Driver | None = None, type: QueueType = QueueType.SDMA) -> None:
        super().__init__(driver or Driver(Bench().device), type)
        self.data = self.device.memory.space.allocate(8192, memory_type="cc").start

    def read(self, offset: int, size: int = 4) -> int:
        return int.from_bytes(self.device.host.read(self.data + offset, size), "little")

    def store(self, offset: int, value: int, size: int = 4) -> None:
        self.device.host.write(self.data + offset, value.to_bytes(size, "little"))

    def copy(self, to: int, source: int, count: int) -> bytes:
        places = {"source": self.data + source, "destination": self.data + to}
        return pack(Opcode.COPY, count=count, **places)

    def poll(self, offset: int, reference: int, function: int = 3, **fields: int) -> bytes:
        given = {"space": 1, "mask": 0xFFFF_FFFF, "function": function, "reference": reference}
        given |= {"address": self.data + offset, "retries": NO_LIMIT}
        return pack(Opcode.POLL, **given | fields)


@pytest.mark.parametrize("type", [QueueType.SDMA, QueueType.SDMA_XGMI, QueueType.SDMA_BY_ENGINE])
def test_each_command(type: QueueType) -> None:
    queue = SdmaRing(type=type)
    event = queue.driver.create_event()
    queue.device.host.write(queue.data, bytes(range(200)))
    to = {"destination": queue.data + 5120}
    queue.submit(
        queue.copy(2049, 3, 130),
        pack(Opcode.CONST_FILL, size=2, data=0xAABBCCDD, count=2100, **to),
        pack(Opcode.CONST_FILL, size=0, data=0x77, count=3, destination=queue.data + 4097),
        pack(Opcode.NOP, bytes(12)),
        queue.poll(0, 0x03020100),
        pack(Opcode.ATOMIC, operation=0x2F, operand=5, address=queue.data + 8),
        pack(Opcode.FENCE, address=queue.data + 4000, data=9),
        pack(Opcode.FENCE, address=event.mailbox, data=event.id),
        pack(Opcode.FENCE, address=event.mailbox + 4, data=0),
        pack(Opcode.TRAP, context=event.id),
    )
    assert queue.driver.wait_events([event.id]) == 0
    queue.device.run()
    host = queue.device.host
    assert host.read(queue.data + 2048, 132) == b"\0" + bytes(range(3, 133)) + b"\0"
    assert host.read(queue.data + 5120, 2104) == bytes.fromhex("ddccbbaa") * 525 + bytes(4)
    assert host.read(queue.data + 4096, 5) == b"\0www\0"
    assert queue.read(8, 8) == int.from_bytes(bytes(range(8, 16)), "little") + 5
    assert queue.read(4000) == 9
    assert queue.read_pointer == 4 * queue.written
    busy = int.from_bytes(host.read(queue.pointers + 8, 8), "little")
    assert 0 < busy <= queue.device.now


@pytest.mark.parametrize("number", sorted(number for number in OPERATIONS if number < 0x40))
def test_atomics(number: int) -> None:
    size = 8 if number & 0x20 else 4
    for silent in (0, 0x40):
        for old in (7, (1 << 8 * size) - 3):
            queue = SdmaRing()
            queue.store(0, old, size)
            operands = {"operand": 5, "compare": 7}
            operation = number | silent
            queue.submit(pack(Opcode.ATOMIC, operation=operation, address=queue.data, **operands))
            queue.device.run()
            wanted = AtomicOp(OPERATIONS[operation], 5, size, 7 if number & 0x1F == 8 else 0).apply(
                old
            )
            assert queue.read(0, size) == wanted


def test_an_atomic_that_waits() -> None:
    queue = SdmaRing()
    swap = {"loop": 1, "operation": 8, "operand": 1, "compare": 0, "address": queue.data}
    queue.store(0, 1)
    queue.submit(pack(Opcode.ATOMIC, **swap), pack(Opcode.FENCE, address=queue.data + 4, data=1))
    with pytest.raises(NoProgressError, match=r"queue 0 waits to swap .* at 0x0, it is 0x1"):
        queue.device.run(until=lambda: queue.read(4) == 1)
    queue.store(0, 0)
    queue.device.run()
    assert (queue.read(0), queue.read(4)) == (1, 1)


def test_a_poll_with_and_without_a_limit() -> None:
    queue = SdmaRing()
    queue.submit(queue.poll(0, 1), pack(Opcode.FENCE, address=queue.data + 4, data=1))
    with pytest.raises(NoProgressError, match="== 0x1, it is 0x0"):
        queue.device.run(until=lambda: queue.read(4) == 1)
    queue.store(0, 1)
    queue.device.run()
    assert queue.read(4) == 1
    queue.submit(queue.poll(0, 2, retries=3))
    with pytest.raises(QueueError, match=r"memory changes within 4 polls, not 0x.* == 0x2"):
        queue.device.run()


def test_pointers_count_bytes_without_an_end() -> None:
    queue = SdmaRing()
    for number in range(150):
        queue.submit(pack(Opcode.FENCE, address=queue.data, data=number))
        queue.device.run()
    assert queue.written > 2 * DWORDS
    assert (queue.read(0), queue.read_pointer) == (149, 4 * queue.written)


def test_a_count_is_one_less_for_gfx9() -> None:
    queue = SdmaRing(Driver(Device(cus=1)))
    device = queue.device
    assert isinstance(device, Device)
    device.load(stored("vadd", "clang14-O2-gfx900"))
    queue.device.host.write(queue.data, b"abcd")
    queue.submit(queue.copy(64, 0, 1), pack(Opcode.CONST_FILL, data=1, destination=queue.data + 80))
    device.run()
    assert (queue.read(64), queue.read(80)) == (0x6261, 1)


def test_copies_go_through_a_dma_engine_beside_kernels() -> None:
    """What a kernel stored is copied, polled for and read by the next kernel, on the caches."""
    device = opened()
    queue = SdmaRing(Driver(device))
    ports: set[tuple[str, int]] = set()
    push = device.memory.push

    def watch(request: MemoryRequest) -> None:
        port = device.memory.ports[request.port]
        if port.kind in (PortKind.CONTROL, PortKind.DMA):
            ports.add((port.kind.value, int(request.addresses[0]) & -4096))
        push(request)

    device.memory.push = watch  # type: ignore[method-assign]
    x = np.arange(64, dtype=np.int32)
    a, middle, c = device.alloc(x), device.alloc_like(x), device.alloc_like(x)
    done = launched(device, "vadd", "vadd_i", 64, a, a, c)
    device.run(until=done)
    queue.submit(
        pack(Opcode.COPY, count=256, source=c.address, destination=middle.address),
        queue.poll(0, 1),
        pack(Opcode.CONST_FILL, size=2, data=3, count=128, destination=a.address),
        pack(Opcode.FENCE, address=queue.data + 4, data=1),
    )
    device.run()
    assert ("control", middle.address) not in ports
    assert queue.read(4) == 0
    queue.store(0, 1)
    device.run()
    assert middle.numpy().tolist() == (2 * x).tolist()
    device.run(until=launched(device, "vadd", "vadd_i", 64, a, middle, c))
    assert c.numpy().tolist() == [3 + 2 * n if n < 32 else 3 * n for n in range(64)]
    assert {("dma", c.address), ("dma", middle.address), ("dma", a.address)} <= ports


def dword(value: int) -> bytes:
    return value.to_bytes(4, "little")


def poll_of(**fields: int) -> bytes:
    return pack(Opcode.POLL, **{"space": 1, "address": 1 << 32} | fields)


HOSTILE = [
    (dword(2), "is one that is carried out here, not WRITE"),
    (dword(0xEE), "is one that is carried out here, not 0xee"),
    (dword(1 | 4 << 8), "COPY: the variant that is carried out here is 0, not 4"),
    (dword(1 | 1 << 27) + bytes(24), "COPY: reserved bits are 0, not bit 27 of dword 0"),
    (dword(0 | 0x3FFF << 16), "a command fits its ring of 256 dwords, not 16384"),
    (pack(Opcode.COPY), "COPY: a count is at least 1, not 0"),
    (pack(Opcode.COPY, count=9, source=64, destination=70), "do not overlap, not 9 bytes from"),
    (pack(Opcode.COPY, count=9, source=64, destination=1 << 33), "0x40: nothing is mapped"),
    (pack(Opcode.COPY, count=9, source_swap=1), "source_swap is 0 .none., not 1"),
    (pack(Opcode.CONST_FILL, size=3), "size is .*, not 3"),
    (pack(Opcode.CONST_FILL, size=2, count=6), "multiples of 4, not 6 bytes at 0x0"),
    (pack(Opcode.CONST_FILL, count=6), "address 0x0: nothing is mapped there"),
    (pack(Opcode.FENCE, address=2), "address is a multiple of 4, not 0x2"),
    (pack(Opcode.TRAP, context=1)[:4] + dword(1 << 28), "bit 28 of dword 1"),
    (poll_of(function=7), "a function is 0 to 6, not 7"),
    (poll_of(space=0), "space is 1 .memory., not 0"),
    (pack(Opcode.ATOMIC, operation=1), "operation is .*, not 1"),
    (pack(Opcode.ATOMIC, operation=0x2F, address=1 << 32 | 4), "is a multiple of 8, not 0x10"),
]


@pytest.mark.parametrize(("command", "why"), HOSTILE, ids=[why for _, why in HOSTILE])
def test_what_is_refused(command: bytes, why: str) -> None:
    queue = SdmaRing()
    fence = {"address": queue.data, "data": 2}
    queue.submit(pack(Opcode.FENCE, **fence | {"data": 1}), command, pack(Opcode.FENCE, **fence))
    with pytest.raises(QueueError) as caught:
        queue.device.run()
    assert re.search(why, str(caught.value)), caught.value
    assert str(caught.value).startswith("queue 0, dword 4: ")
    assert (queue.read(0), queue.link.state) == (1, QueueState.INACTIVE)


COMMANDS = st.sampled_from(sorted(set(Opcode) - {Opcode.NOP})).flatmap(
    lambda opcode: st.fixed_dictionaries(
        {
            field.name: st.integers(0, (1 << field.width) - 1)
            if field.values is None
            else st.sampled_from([*field.values, (1 << field.width) - 1])
            for field in LAYOUTS[opcode].fields
        }
    ).map(lambda values: pack(opcode, **values))
)


@settings(max_examples=20, deadline=None)
@given(st.lists(COMMANDS | st.binary(min_size=4, max_size=40), max_size=8))
def test_any_dwords_end_in_words(commands: list[bytes]) -> None:
    queue = SdmaRing()
    queue.write(*(command[: len(command) & -4] for command in commands))
    queue.ring()
    try:
        queue.device.run()
    except QueueError as error:
        assert str(error).startswith("queue 0, dword ")
        queue.device.run()
