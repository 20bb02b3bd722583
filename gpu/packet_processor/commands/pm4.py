"""What PM4 commands do: accesses of the front end through its port, fences, interrupts.

Invariant: a command is over when every observer sees what it wrote.

Source: the public headers ``vid.h`` and ``soc15d.h`` of the Linux driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu.errors import QueueError
from gpu.hsa.activities import Steps
from gpu.hsa.aql import FenceScope
from gpu.hsa.queue_state import Connection
from gpu.packet_processor.commands import pm4_layouts
from gpu.packet_processor.commands.command_layout import DWORD
from gpu.packet_processor.commands.command_service import Buffer
from gpu.packet_processor.commands.memory_poll import Condition, poll
from gpu.packet_processor.commands.pm4_layouts import CACHES, LAYOUTS, TYPE_3, Caches, Opcode
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.eop_ring import write_entry
from gpu.packet_processor.fences import Fences

Fields = Mapping[str, int]


class Pm4:
    """`gpu.packet_processor.commands.command_service.Language` of compute queues.

    ``interrupt``: called with event numbers. ``poll``: ticks between two polls of memory.
    """

    def __init__(
        self, control: ControlPort, fences: Fences, interrupt: Callable[[int], None], poll: int
    ) -> None:
        self._control = control
        self._fences = fences
        self._interrupt = interrupt
        self._poll = poll
        self._methods = {
            Opcode.WRITE_DATA: self._write_data,
            Opcode.COPY_DATA: self._copy_data,
            Opcode.RELEASE_MEM: self._release_mem,
            Opcode.ACQUIRE_MEM: self._acquire_mem,
            Opcode.WAIT_REG_MEM: self._wait_mem,
        }

    def length(self, header: int) -> int:
        """Dwords of a command. Raises QueueError for one that is not carried out."""
        return pm4_layouts.length_of(header)

    def name(self, header: int) -> str:
        """The name of a command that has a length."""
        return Opcode(header >> 8 & 0xFF).name if pm4_layouts.type_of(header) == TYPE_3 else "NOP"

    def perform(self, link: Connection, data: bytes) -> Steps[Buffer | None]:
        """Carry a command out. Raises QueueError and Unmapped."""
        header = int.from_bytes(data[:DWORD], "little")
        if pm4_layouts.type_of(header) != TYPE_3:
            return None
        opcode = Opcode(header >> 8 & 0xFF)
        layout = LAYOUTS[opcode]
        fields = layout.decode(data)
        if opcode is Opcode.INDIRECT_BUFFER:
            return _buffer(fields)
        method = self._methods.get(opcode)
        if method is not None:
            yield from method(link, fields, layout.tail(data))
        return None

    # ------------------------------------------------------------------ data

    def _write_data(self, link: Connection, fields: Fields, data: bytes) -> Steps[None]:
        if not data:
            raise QueueError("WRITE_DATA has data", "none")
        parts = [data]
        if fields["one_address"]:
            parts = [data[place : place + DWORD] for place in range(0, len(data), DWORD)]
        for part in parts:
            yield from self._control.store(fields["address"], part)
        self._control.activities.notify()

    def _copy_data(self, link: Connection, fields: Fields, data: bytes) -> Steps[None]:
        size = 8 if fields["wide"] else 4
        source, value = fields["source"], fields["from"]
        _check_aligned("COPY_DATA", fields["address"], size)
        if source in (1, 2):
            _check_aligned("COPY_DATA", value, size)
            value = yield from self._control.load_int(value, size)
        elif source == 9:
            value = self._now
        yield from self._control.store_int(fields["address"], value, size)
        self._control.activities.notify()

    # ------------------------------------------------------------------ fences

    def _release_mem(self, link: Connection, fields: Fields, data: bytes) -> Steps[None]:
        kind = fields["data"]
        size = 4 if kind == 1 else 8
        if kind:
            _check_aligned("RELEASE_MEM", fields["address"], size)
        beyond = fields["write_back"] or fields["shared"] or fields["shared_volatile"]
        scope = FenceScope.SYSTEM if beyond else FenceScope.AGENT
        yield from self._fences.release(scope, link.cus)
        if fields["vector"] or fields["vector_volatile"] or fields["shared"]:
            yield from self._fences.acquire(scope, link.cus)
        yield from write_entry(self._control, link, link.read_id, fields["address"])
        if kind:
            value = self._now if kind == 3 else fields["value"]
            yield from self._control.store_int(fields["address"], value, size)
            self._control.activities.notify()
        if fields["interrupt"] in (1, 2):
            self._interrupt(fields["context"] & 0xFF)

    def _acquire_mem(self, link: Connection, fields: Fields, data: bytes) -> Steps[None]:
        asked = Caches(0)
        for name, each in CACHES.items():
            asked |= each if fields[name] else Caches(0)
        if asked & Caches.SHARED_WRITE_BACK:
            yield from self._fences.release(FenceScope.SYSTEM, link.cus)
        code = bool(asked & Caches.CODE)
        if asked & (Caches.SHARED | Caches.SHARED_VOLATILE):
            yield from self._fences.acquire(FenceScope.SYSTEM, link.cus, code)
        elif asked & ~(Caches.CODE | Caches.SHARED_WRITE_BACK):
            yield from self._fences.acquire(FenceScope.AGENT, link.cus, code)
        elif code:
            yield from self._fences.code(link.cus)

    # ------------------------------------------------------------------ waiting

    def _wait_mem(self, link: Connection, fields: Fields, data: bytes) -> Steps[None]:
        condition = Condition(
            fields["address"], fields["function"], fields["reference"], fields["mask"]
        )
        condition.check("WAIT_REG_MEM")
        yield from poll(self._control, link, condition, self._poll)

    @property
    def _now(self) -> int:
        return self._control.activities.memory.now


def _buffer(fields: Fields) -> Buffer:
    if not fields["size"]:
        raise QueueError("INDIRECT_BUFFER: a buffer has at least 1 dword", 0)
    return Buffer(fields["address"], fields["size"], bool(fields["chain"]))


def _check_aligned(command: str, address: int, size: int) -> None:
    if address % size:
        raise QueueError(f"{command}: an address of {size} bytes is a multiple of it", hex(address))
