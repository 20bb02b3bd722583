"""What SDMA commands do: copies and fills through the port of a DMA engine, the rest through the
front end's.

A device without such engines copies through the front end's port. Invariant: a command is over when
every observer sees what it wrote, and one that is refused has written nothing.

Source: the public header ``vega10_sdma_pkt_open.h`` of the Linux driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gpu.errors import QueueError
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.queue_state import Connection
from gpu.packet_processor.commands import sdma_layouts
from gpu.packet_processor.commands.command_layout import DWORD
from gpu.packet_processor.commands.command_service import Buffer
from gpu.packet_processor.commands.memory_poll import Condition, poll
from gpu.packet_processor.commands.sdma_layouts import (
    FILL_BYTES,
    LAYOUTS,
    NO_LIMIT,
    OPERATIONS,
    WIDE,
    Opcode,
)
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.dma_copy import WINDOW, copy
from runtime.types.atomic_op import AtomicKind

Fields = Mapping[str, int]


class Sdma:
    """`gpu.packet_processor.commands.command_service.Language` of SDMA queues.

    ``engines``: ports of the DMA engines; queues take them in turn. ``one_less``: whether a count
    is one less than the bytes, as on GFX9. ``interrupt``: called with event numbers. ``ticks``:
    between two polls of memory.
    """

    def __init__(
        self,
        control: ControlPort,
        engines: list[ControlPort],
        one_less: Callable[[], bool],
        interrupt: Callable[[int], None],
        ticks: int,
    ) -> None:
        self._control = control
        self._engines = engines or [control]
        self._one_less = one_less
        self._interrupt = interrupt
        self._ticks = ticks
        self._methods: Final = {
            Opcode.COPY: self._copy,
            Opcode.FENCE: self._fence,
            Opcode.TRAP: self._trap,
            Opcode.POLL: self._poll,
            Opcode.ATOMIC: self._atomic,
            Opcode.CONST_FILL: self._fill,
        }

    def length(self, header: int) -> int:
        """Dwords of a command. Raises QueueError for one that is not carried out."""
        return sdma_layouts.length_of(header)

    def name(self, header: int) -> str:
        """The name of a command that has a length."""
        return f"SDMA {LAYOUTS[Opcode(header & 0xFF)].name}"

    def perform(self, link: Connection, data: bytes) -> Steps[Buffer | None]:
        """Carry a command out. Raises QueueError and Unmapped."""
        opcode = Opcode(int.from_bytes(data[:DWORD], "little") & 0xFF)
        fields = LAYOUTS[opcode].decode(data)
        if opcode in self._methods:
            yield from self._methods[opcode](link, fields)
        return None

    def _engine(self, link: Connection) -> ControlPort:
        return self._engines[link.id % len(self._engines)]

    # ------------------------------------------------------------------ data

    def _copy(self, link: Connection, fields: Fields) -> Steps[None]:
        size = self._bytes("COPY", fields["count"])
        source, destination = fields["source"], fields["destination"]
        if abs(source - destination) < size:
            text = f"{size} bytes from {source:#x} to {destination:#x}"
            raise QueueError("COPY: source and destination do not overlap", text)
        space = self._control.space
        space.at(source, size, loads=True)
        space.at(destination, size, loads=True, writes=True)
        yield from copy(self._engine(link), destination, source, size)
        self._control.activities.notify()

    def _fill(self, link: Connection, fields: Fields) -> Steps[None]:
        size, unit = self._bytes("CONST_FILL", fields["count"]), FILL_BYTES[fields["size"]]
        start = fields["destination"]
        if size % unit or start % unit:
            text = f"{size} bytes at {start:#x}"
            raise QueueError(f"CONST_FILL: address and size are multiples of {unit}", text)
        self._control.space.at(start, size, loads=True, writes=True)
        pattern = fields["data"].to_bytes(4, "little")[:unit]
        for first in range(0, size, WINDOW):
            part = min(WINDOW, size - first)
            yield from self._engine(link).store(start + first, pattern * (part // unit))
        self._control.activities.notify()

    def _bytes(self, command: str, count: int) -> int:
        size = count + self._one_less()
        if not size:
            raise QueueError(f"{command}: a count is at least 1", count)
        return size

    def _atomic(self, link: Connection, fields: Fields) -> Steps[None]:
        number = fields["operation"]
        kind, size = OPERATIONS[number], 8 if number & WIDE else 4
        address, mask = fields["address"], (1 << 8 * size) - 1
        if address % size:
            raise QueueError(f"ATOMIC: an address is a multiple of {size}", hex(address))
        compare = fields["compare"] & mask
        looping = bool(fields["loop"]) and kind == AtomicKind.CAS
        activities = self._control.activities
        while link.active:
            seen, looked = activities.news.count, activities.happened
            old = yield from self._control.atomic(kind, address, fields["operand"], compare, size)
            if not looping or old == compare:
                activities.notify()
                return
            why = f"{link.name} waits to swap {address:#x} at {compare:#x}, it is {old:#x}"
            yield from link.rest(Pause(self._ticks, activities.news, seen, looked, why))

    # ------------------------------------------------------------------ order

    def _fence(self, link: Connection, fields: Fields) -> Steps[None]:
        yield from self._control.store_int(fields["address"], fields["data"], DWORD)
        self._control.activities.notify()

    def _trap(self, link: Connection, fields: Fields) -> Steps[None]:
        self._interrupt(fields["context"] & 0xFF)
        yield Pause(1)

    def _poll(self, link: Connection, fields: Fields) -> Steps[None]:
        condition = Condition(
            fields["address"], fields["function"], fields["reference"], fields["mask"]
        )
        condition.check("POLL_REGMEM")
        retries = fields["retries"]
        most = None if retries == NO_LIMIT else retries + 1
        yield from poll(self._control, link, condition, self._ticks, most)
