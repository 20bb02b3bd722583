"""A queue of commands, as a process makes and fills it."""

from __future__ import annotations

from gpu.host.device_core import BareDevice
from gpu.host.kfd.driver import CreateQueue, Driver, QueueType
from gpu.hsa.queue_state import Connection

DWORDS = 256


class CommandRing:
    """``type``: of the queue. Pointers count dwords, or bytes on SDMA queues."""

    def __init__(self, driver: Driver, type: QueueType, priority: int = 7) -> None:
        self.driver = driver
        self.device: BareDevice = driver.device
        space = self.device.memory.space
        self.base = space.allocate(4 * DWORDS, memory_type="cc", name="ring").start
        self.pointers = space.allocate(64, memory_type="cc", name="pointers").start
        self.unit = 1 if type is QueueType.COMPUTE else 4
        self.written = 0
        made = driver.create_queue(
            CreateQueue(
                ring_base=self.base,
                ring_size=4 * DWORDS,
                read_pointer=self.pointers,
                write_pointer=self.pointers + 32,
                type=type,
                priority=priority,
            )
        )
        self.id = made.id
        self.doorbell = driver.doorbells + made.doorbell

    @property
    def link(self) -> Connection:
        return self.device.queues[self.id].link

    def write(self, *commands: bytes) -> None:
        """Without ringing."""
        data = b"".join(commands)
        for place in range(0, len(data), 4):
            where = self.base + 4 * (self.written % DWORDS)
            self.device.host.write(where, data[place : place + 4])
            self.written += 1

    def ring(self, pointer: int | None = None) -> None:
        value = self.written if pointer is None else pointer
        if self.unit == 1:
            value %= DWORDS
        self.device.host.write(self.doorbell, (value * self.unit).to_bytes(8, "little"))

    def submit(self, *commands: bytes) -> None:
        self.write(*commands)
        self.ring()

    @property
    def read_pointer(self) -> int:
        size = 4 if self.unit == 1 else 8
        return int.from_bytes(self.device.host.read(self.pointers, size), "little")
