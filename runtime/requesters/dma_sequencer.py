"""The port of a DMA engine: transfers of any length, one line at a time.

Invariants: a transfer has at most one line in flight; of each line at most one transfer is in
flight, later ones queue; data is reported once, when the last line has arrived.
"""

from __future__ import annotations

from typing import Final

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.base import RefusalReason, RequesterBase
from runtime.requesters.port import Access, AccessKind, Outstanding
from runtime.types.messages import RubyRequestType, SequencerMsg, SequencerRequestType
from runtime.types.values import DataBlock, WriteMask, byte_range

MAX_TRANSFER: Final = 1 << 20
"""Bytes of the longest transfer."""


class Transfer:
    """One lane of an access: ``size`` bytes from ``address``, ``done`` of them transferred.

    ``data`` is little-endian and relative to the first line's address.
    """

    __slots__ = ("access", "address", "data", "done", "first_line", "lane", "line")

    def __init__(self, access: Access, lane: int, line_size: int) -> None:
        self.access = access
        self.lane = lane
        self.address = access.addresses[lane]
        self.first_line = self.address & -line_size
        self.line = self.first_line
        self.done = 0
        self.data = 0
        if access.kind == AccessKind.STORE:
            value = access.values[lane] & (1 << 8 * access.size) - 1
            self.data = value << 8 * (self.address - self.first_line)


class DMASequencer(RequesterBase):
    """Requester and callback object of one DMA engine. ``outstanding``: transfers accepted."""

    kind = "dma"

    def __init__(
        self,
        name: str,
        index: int,
        lanes: int,
        line_size: int,
        *,
        outstanding: int = 64,
    ) -> None:
        super().__init__(name, index, lanes, line_size)
        self.max_outstanding = outstanding
        self._count = 0
        self._lines: dict[int, list[Transfer]] = {}
        """By line: the transfer in flight there, then those that wait for it."""

    # ------------------------------------------------------------------ issue

    def issue(self, access: Access) -> bool:
        kind = access.kind
        if kind == AccessKind.LOAD or kind == AccessKind.STORE:
            return self._issue_transfers(access)
        if kind == AccessKind.RELEASE:
            return self._release(access)
        if kind == AccessKind.ACQUIRE:
            self._accept(access, 1)
            self._end_next_tick(access)
            return True
        raise self._misuse(access, "a DMA engine only loads, stores, acquires and releases")

    def _issue_transfers(self, access: Access) -> bool:
        need = len(access.addresses)
        if not need:
            raise self._misuse(access, "no lane is active")
        if need > self.lanes:
            raise self._misuse(access, f"more than {self.lanes} lanes")
        if not 0 < access.size <= MAX_TRANSFER:
            raise self._misuse(access, f"size {access.size} is not 1 to {MAX_TRANSFER} bytes")
        if min(access.addresses) < 0:
            raise self._misuse(access, f"negative address {min(access.addresses)}")
        if access.kind == AccessKind.STORE and len(access.values) != need:
            raise self._misuse(access, f"{len(access.values)} values for {need} lanes")
        if need > self.max_outstanding:
            raise self._misuse(access, f"needs {need} of {self.max_outstanding} transfers")
        if not self._may_take(access.client, RefusalReason.ROOM, need):
            return False
        self._accept(access, need)
        self._count += need
        assert self._count <= self.max_outstanding
        for lane in range(need):
            self._enter(Transfer(access, lane, self.line_size))
        return True

    def _enter(self, transfer: Transfer) -> None:
        """The transfer wants its current line."""
        waiting = self._lines.get(transfer.line)
        if waiting is None:
            self._lines[transfer.line] = [transfer]
            self._send(transfer)
        else:
            waiting.append(transfer)

    def _piece(self, transfer: Transfer) -> tuple[int, int]:
        """Offset in the current line and length of the part of the transfer that lies there."""
        offset = transfer.address + transfer.done - transfer.line
        assert 0 <= offset < self.line_size and transfer.done < transfer.access.size
        return offset, min(self.line_size - offset, transfer.access.size - transfer.done)

    def _send(self, transfer: Transfer) -> None:
        offset, length = self._piece(transfer)
        message = SequencerMsg()
        message.LineAddress = transfer.line
        message.PhysicalAddress = transfer.line + offset
        message.Len = length
        message.writeMask = WriteMask(byte_range(offset, length))
        if transfer.access.kind == AccessKind.STORE:
            message.Type = SequencerRequestType.ST
            image = transfer.data >> 8 * (transfer.line - transfer.first_line)
            message.DataBlk = DataBlock(image & byte_range(offset, length))
            latency = self.controller.mandatoryQueueLatency(RubyRequestType.ST)
        else:
            message.Type = SequencerRequestType.LD
            latency = self.controller.mandatoryQueueLatency(RubyRequestType.LD)
        self.queue.enqueue(message, latency)

    def _free(self, reason: int) -> int:
        return self.max_outstanding - self._count

    # ------------------------------------------------------------------ callbacks of protocols

    def dataCallback(self, data: DataBlock, address: int) -> None:
        """The line's bytes have arrived for the transfer in flight there."""
        transfer = self._in_flight(address, AccessKind.LOAD, "dataCallback")
        offset, length = self._piece(transfer)
        piece = data.data & byte_range(offset, length)
        transfer.data |= piece << 8 * (transfer.line - transfer.first_line)
        self._advance(transfer, length)

    def ackCallback(self, address: int) -> None:
        """The line's bytes have been written for the transfer in flight there."""
        transfer = self._in_flight(address, AccessKind.STORE, "ackCallback")
        self._advance(transfer, self._piece(transfer)[1])

    def atomicCallback(self, data: DataBlock, address: int) -> None:
        """DMA atomics are never asked for."""
        raise ProtocolError(
            ErrorKind.BAD_CALLBACK,
            f"atomicCallback for line {address:#x}, which {self.name} never asked for",
        )

    def recordRequestType(self, type: int) -> None:
        """Statistics, which are not kept."""

    def _in_flight(self, address: int, kind: int, callback: str) -> Transfer:
        line = address & -self.line_size
        waiting = self._lines.get(line)
        if waiting is None:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"{callback} for line {line:#x}, of which {self.name} has no transfer in flight",
            )
        if waiting[0].access.kind != kind:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"{callback} for line {line:#x}, where {waiting[0].access!r} is in flight",
            )
        return waiting[0]

    def _advance(self, transfer: Transfer, length: int) -> None:
        """Leave the line to the next transfer; go on with the next line, or be done."""
        line = transfer.line
        waiting = self._lines[line]
        assert waiting[0] is transfer, "the first transfer of a line is in flight"
        del waiting[0]
        if waiting:
            self._send(waiting[0])
        else:
            del self._lines[line]
        transfer.done += length
        access = transfer.access
        if transfer.done < access.size:
            transfer.line = line + self.line_size
            self._enter(transfer)
            return
        self._count -= 1
        assert self._count >= 0 and transfer.done == access.size
        lanes = [transfer.lane]
        if access.kind == AccessKind.LOAD:
            access.client.loaded(access, lanes, transfer.first_line, DataBlock(transfer.data))
        else:
            access.client.stored(access, lanes, transfer.first_line)
            access.client.store_completed(access, lanes, transfer.first_line)
        self._close_part(access)
        self._offer(RefusalReason.ROOM)

    # ------------------------------------------------------------------ reports

    def _parts(self) -> list[Outstanding]:
        parts: list[Outstanding] = []
        for line, waiting in self._lines.items():
            for place, transfer in enumerate(waiting):
                where = "sent" if not place else f"behind {waiting[0].access!r}"
                where += f", {transfer.done} of {transfer.access.size} bytes done"
                access = transfer.access
                parts.append(Outstanding(access, [transfer.lane], line, access.issued, where))
        return parts
