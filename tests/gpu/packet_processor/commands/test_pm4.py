"""PM4 commands: what each does, how queues of them share slots, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu import Device
from gpu.errors import NoProgressError, QueueError
from gpu.host.device_core import Options
from gpu.host.kfd.driver import Driver, QueueType
from gpu.hsa.queue_state import QueueState
from gpu.packet_processor.commands.command_service import MOST_BUFFERS
from gpu.packet_processor.commands.pm4_layouts import LAYOUTS, Opcode, pack
from tests.gpu.packet_processor.commands.ring import DWORDS, CommandRing
from tests.gpu.packet_processor.harness import Bench

MEMORY = {"destination": 5, "confirm": 1}


class Pm4Ring(CommandRing):
    """With some memory to work on."""

    def __init__(self, driver: Driver | None = None, slots: int | None = None) -> None:
        if driver is None:
            driver = Driver(Bench(options=Options(slots=slots, quantum=200)).device)
        super().__init__(driver, QueueType.COMPUTE)
        self.data = self.device.memory.space.allocate(8192, memory_type="cc").start

    def read(self, offset: int, size: int = 4) -> int:
        return int.from_bytes(self.device.host.read(self.data + offset, size), "little")

    def store(self, offset: int, value: int) -> None:
        self.device.host.write(self.data + offset, value.to_bytes(4, "little"))

    def write_data(self, offset: int, *values: int, **fields: int) -> bytes:
        tail = b"".join(value.to_bytes(4, "little") for value in values)
        address = self.data + offset
        return pack(Opcode.WRITE_DATA, tail, **MEMORY | {"address": address} | fields)

    def wait(self, offset: int, reference: int, function: int = 3, **fields: int) -> bytes:
        given = {"space": 1, "mask": 0xFFFF_FFFF, "function": function, "reference": reference}
        return pack(Opcode.WAIT_REG_MEM, **given | {"address": self.data + offset} | fields)

    def buffer(self, offset: int, *commands: bytes, **fields: int) -> bytes:
        """An indirect buffer in the data."""
        content = b"".join(commands)
        self.device.host.write(self.data + offset, content)
        size = len(content) // 4
        given = {"address": self.data + offset, "size": size, "valid": 1}
        return pack(Opcode.INDIRECT_BUFFER, **given | fields)


def test_data_is_written_and_copied() -> None:
    queue = Pm4Ring()
    to = {"destination": 2, "address": queue.data + 64}
    queue.submit(
        queue.write_data(0, 1, 2, 3),
        queue.write_data(32, 7, 8, 9, one_address=1),
        pack(Opcode.COPY_DATA, source=1, wide=1, **to | {"from": queue.data}),
        pack(Opcode.COPY_DATA, source=5, **to | {"from": 77, "address": queue.data + 72}),
        pack(Opcode.COPY_DATA, source=9, wide=1, **to | {"address": queue.data + 80}),
        pack(Opcode.NOP, bytes(8)),
        (0xC0001000 | 0x3FFF << 16).to_bytes(4, "little"),
        (2 << 30).to_bytes(4, "little"),
    )
    queue.device.run()
    assert [queue.read(offset) for offset in (0, 4, 8, 12)] == [1, 2, 3, 0]
    assert (queue.read(32), queue.read(36)) == (9, 0)
    assert (queue.read(64, 8), queue.read(72)) == (2 << 32 | 1, 77)
    assert 0 < queue.read(80, 8) <= queue.device.now
    assert queue.read_pointer == queue.written
    assert queue.device.packets.launched == {"WRITE_DATA": 2, "COPY_DATA": 3, "NOP": 3}


def test_the_ring_wraps() -> None:
    queue = Pm4Ring()
    for number in range(200):
        queue.submit(queue.write_data(4 * (number % 16), number, number))
        queue.device.run()
        assert queue.read_pointer == queue.written % DWORDS
    assert queue.read(4 * (199 % 16)) == 199


def test_a_wait_ends_when_memory_is_so() -> None:
    queue = Pm4Ring()
    queue.submit(queue.wait(0, 5, function=5, mask=0xFF), queue.write_data(4, 1))
    with pytest.raises(NoProgressError, match=r"queue 0 waits for 0x\w+ >= 0x5, it is 0x0"):
        queue.device.run(until=lambda: queue.read(4) == 1)
    queue.store(0, 0x104)
    queue.device.run()
    assert queue.read(4) == 0
    queue.store(0, 0x106)
    queue.device.run()
    assert queue.read(4) == 1


@pytest.mark.parametrize(
    ("function", "passes"), list(enumerate(["012", "0", "01", "1", "02", "12", "2"]))
)
def test_functions_of_a_wait(function: int, passes: str) -> None:
    for value in range(3):
        queue = Pm4Ring()
        queue.store(0, value)
        queue.submit(queue.wait(0, 1, function), queue.write_data(4, 1))
        queue.device.run()
        assert queue.read(4) == (str(value) in passes)


def test_a_command_that_is_written_in_part_waits_for_the_rest() -> None:
    queue = Pm4Ring()
    queue.write(queue.write_data(0, 1, 2))
    queue.ring(3)
    with pytest.raises(NoProgressError, match="a command of 6 dwords, of which 3 are written"):
        queue.device.run(until=lambda: queue.read(0) == 1)
    queue.ring()
    queue.device.run()
    assert queue.read(4) == 2


def test_indirect_buffers() -> None:
    queue = Pm4Ring()
    inner = queue.buffer(1024, queue.write_data(0, 1))
    chained = queue.buffer(2048, queue.write_data(4, 2), chain=1)
    outer = queue.buffer(3072, inner, queue.write_data(8, 3), chained, queue.write_data(12, 4))
    queue.submit(outer, queue.write_data(16, 5))
    queue.device.run()
    found = [queue.read(offset) for offset in (0, 4, 8, 12, 16)]
    assert found == [1, 2, 3, 0, 5], "nothing of a buffer follows a chained one"


def test_fences_and_their_events() -> None:
    queue = Pm4Ring()
    event = queue.driver.create_event()
    release = {"event": 0x14, "index": 5, "write_back": 1, "vector": 1, "shared": 1}
    to_event = {"data": 2, "value": event.id, "address": event.mailbox, "interrupt": 2}
    queue.submit(
        pack(Opcode.RELEASE_MEM, **release | {"data": 1, "value": 9, "address": queue.data}),
        pack(Opcode.RELEASE_MEM, **release | {"data": 3, "address": queue.data + 8}),
        pack(Opcode.RELEASE_MEM, context=event.id, **release, **to_event),
        pack(Opcode.ACQUIRE_MEM, shared=1, vector=1, code=1, size=(1 << 40) - 1),
        pack(Opcode.ACQUIRE_MEM, scalar=1, shared_write_back=1),
        pack(Opcode.ACQUIRE_MEM, code=1),
    )
    assert queue.driver.wait_events([event.id]) == 0
    queue.device.run()
    assert (queue.read(0), queue.read(4)) == (9, 0)
    assert 0 < queue.read(8, 8) <= queue.device.now
    assert queue.link.state is QueueState.ACTIVE


def test_through_a_protocol() -> None:
    """What a kernel's port would see goes through the caches, in order."""
    device = Device("GPU_VIPER", cus=1)
    queue = Pm4Ring(Driver(device))
    shared = device.alloc(np.arange(4, dtype=np.uint32))
    copy = {"source": 2, "destination": 2, "wide": 1, "address": shared.address}
    queue.submit(
        pack(Opcode.COPY_DATA, **copy | {"from": shared.address + 8}),
        pack(Opcode.RELEASE_MEM, event=0x14, index=5, write_back=1, data=1, value=3,
             address=queue.data),
        queue.wait(0, 3),
        pack(Opcode.ACQUIRE_MEM, shared=1, scalar=1, vector=1),
        queue.write_data(4, 8),
    )  # fmt: skip
    device.run()
    assert queue.read(4) == 8
    assert shared.numpy().tolist() == [2, 3, 2, 3]
    assert device.now > 100


# ---------------------------------------------------------------------- slots


def test_queues_that_wait_for_each_other_share_a_slot() -> None:
    """A wait in an indirect buffer gives its slot up, and nothing before it is repeated."""
    first = Pm4Ring(slots=1)
    second = Pm4Ring(first.driver)
    second.data = first.data
    for turn in range(3):
        place = 1024 * (turn % 2)
        ping = first.write_data(0, turn + 1), first.wait(4, turn + 1)
        first.write(first.buffer(2048 + place, *ping))
        second.write(second.buffer(4096 + place, second.wait(0, turn + 1)))
        second.write(second.write_data(4, turn + 1))
        first.ring()
        second.ring()
        first.device.run()
        assert (first.read(0), first.read(4)) == (turn + 1, turn + 1)
    assert first.device.packets.launched == {
        "INDIRECT_BUFFER": 6,
        "WRITE_DATA": 6,
        "WAIT_REG_MEM": 6,
    }


def test_a_busy_queue_gives_way_between_two_commands() -> None:
    busy = Pm4Ring(slots=1)
    patient = Pm4Ring(busy.driver)
    busy.write(*(busy.write_data(0, number) for number in range(40)))
    busy.ring()
    patient.submit(patient.write_data(0, 1))
    busy.device.run()
    assert (busy.read(0), patient.read(0)) == (39, 1)


def test_update_moves_the_ring_and_keeps_the_place() -> None:
    queue = Pm4Ring()
    queue.submit(queue.write_data(0, 1))
    queue.device.run()
    queue.driver.update_queue(queue.id, 0, 0, 100, 7)
    queue.submit(queue.write_data(0, 2))
    queue.device.run()
    assert queue.read(0) == 1, "a queue without a ring does nothing"
    other = queue.device.memory.space.allocate(8 * DWORDS, memory_type="cc").start
    queue.device.host.write(other, queue.device.host.read(queue.base, 4 * DWORDS))
    queue.driver.update_queue(queue.id, other, 8 * DWORDS, 100, 7)
    queue.device.run()
    assert (queue.read(0), queue.read_pointer) == (2, queue.written)
    queue.driver.destroy_queue(queue.id)
    queue.submit(queue.write_data(0, 3))
    queue.device.run()
    assert queue.read(0) == 2


# ---------------------------------------------------------------------- what is refused


def dword(value: int) -> bytes:
    return value.to_bytes(4, "little")


def refused(queue: Pm4Ring, *commands: bytes) -> str:
    """The error that the last command ends in; those before it are carried out."""
    queue.submit(queue.write_data(64, 1), *commands, queue.write_data(64, 2))
    with pytest.raises(QueueError) as caught:
        queue.device.run()
    assert queue.read(64) == 1
    assert queue.link.state is QueueState.INACTIVE
    assert str(caught.value) == str(queue.link.error)
    return str(caught.value)


HOSTILE = [
    (dword(0), "a PM4 command is of type 2 or 3, not 0"),
    (dword(1 << 30), "type 2 or 3, not 1"),
    (dword(0xC0001500), "carried out here, not DISPATCH_DIRECT"),
    (dword(0xC000FF00), "carried out here, not 0xff"),
    (dword(0xC0033701) + bytes(16), "WRITE_DATA: reserved bits are 0, not bit 0 of dword 0"),
    (dword(0xC0003700) + bytes(4), "WRITE_DATA has 4 dwords and data, not 2"),
    (dword(0xC0074000) + bytes(32), "COPY_DATA has 6 dwords, not 9"),
    (dword(0xC1003700) + bytes(32), "a command fits its ring of 256 dwords, not 258"),
    (pack(Opcode.WRITE_DATA, **MEMORY), "WRITE_DATA has data, not none"),
    (pack(Opcode.WRITE_DATA, bytes(4)), "destination is 1 .memory., .* 5 .memory., not 0"),
    (pack(Opcode.WRITE_DATA, bytes(4), **MEMORY, address=2), "address is a multiple of 4, not 0x2"),
    (pack(Opcode.WRITE_DATA, bytes(4), **MEMORY, address=64), "address 0x40: nothing is mapped"),
    (pack(Opcode.COPY_DATA, source=5, wide=1, destination=5, address=1 << 32 | 4), "a multiple"),
    (pack(Opcode.COPY_DATA, source=0, destination=5), "source is .*, not 0"),
    (pack(Opcode.WAIT_REG_MEM, space=0), "space is 1 .memory., not 0"),
    (pack(Opcode.WAIT_REG_MEM, space=1, function=7), "a function is 0 to 6, not 7"),
    (pack(Opcode.INDIRECT_BUFFER, size=0), "a buffer has at least 1 dword, not 0"),
    (pack(Opcode.INDIRECT_BUFFER, size=1, vmid=3), "vmid is 0 .none., not 3"),
    (pack(Opcode.INDIRECT_BUFFER, size=1), "address 0x0: nothing is mapped"),
    (pack(Opcode.INDIRECT_BUFFER, size=1, chain=1), "a buffer is chained to a buffer, not a ring"),
    (pack(Opcode.RELEASE_MEM, event=1, index=5), "RELEASE_MEM: event is .*, not 1"),
    (pack(Opcode.RELEASE_MEM, event=0x14, index=5, data=5), "data is .*, not 5"),
    (pack(Opcode.RELEASE_MEM, event=0x14, index=5, data=2, address=4), "8 bytes is a multiple"),
    (pack(Opcode.ACQUIRE_MEM)[:4] + dword(1) + bytes(20), "reserved bits are 0, not bit 0 of"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "why"), HOSTILE, ids=[why for _, why in HOSTILE])
def test_what_is_refused(command: bytes, why: str) -> None:
    queue = Pm4Ring()
    text = refused(queue, command)
    assert text.startswith("queue 0, dword 5")
    assert re.search(why, text), text


def test_buffers_without_end() -> None:
    queue = Pm4Ring()
    loop = {"address": queue.data + 1024, "size": 6}
    itself = pack(Opcode.INDIRECT_BUFFER, chain=1, **loop)
    start = queue.buffer(1024, pack(Opcode.NOP, bytes(4)), itself)
    assert f"bounded number of buffers, not {MOST_BUFFERS + 1}" in refused(queue, start)
    deep = Pm4Ring()
    nop = pack(Opcode.NOP, bytes(4))
    third = deep.buffer(3072, deep.buffer(2048, deep.buffer(1024, nop), nop), nop)
    text = refused(deep, third)
    assert "in an indirect buffer at 0x" in text
    assert "buffers are started at most 2 deep, not 3" in text
    large = Pm4Ring()
    size = (1 << 20) - 1
    last = large.buffer(1024, pack(Opcode.NOP, bytes(4)), size=size)
    assert "have a bounded size, not 2097150" in refused(large, large.buffer(2048, last, size=size))
    short = Pm4Ring()
    cut = short.buffer(1024, short.write_data(0, 1)[:8])
    assert "a command fits the 2 dwords that are left, not 5" in refused(short, cut)


COMMANDS = st.sampled_from(sorted(Opcode)).flatmap(
    lambda opcode: st.fixed_dictionaries(
        {
            field.name: st.integers(0, (1 << field.width) - 1)
            if field.values is None
            else st.sampled_from([*field.values, (1 << field.width) - 1])
            for field in LAYOUTS[opcode].fields
        }
    ).flatmap(
        lambda values: st.binary(max_size=32).map(
            lambda tail: pack(opcode, tail[: len(tail) & -4], **values)
        )
    )
)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_dwords_end_in_words(data: st.DataObject) -> None:
    """Of one queue; another one is served meanwhile."""
    queue = Pm4Ring(slots=1)
    other = Pm4Ring(queue.driver)
    for command in data.draw(st.lists(COMMANDS | st.binary(min_size=4, max_size=40), max_size=8)):
        queue.write(command[: len(command) & -4])
    queue.ring(data.draw(st.none() | st.integers(0, 1 << 32)))
    other.submit(other.write_data(0, 1))
    try:
        queue.device.run()
    except QueueError as error:
        assert str(error).startswith("queue 0, dword ")
        queue.device.run()
    assert other.read(0) == 1
