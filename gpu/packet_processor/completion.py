"""Completion of packets: signals decremented, times written, waiting agents notified.

Invariant: a signal changes only after everything that the packet wrote is visible to every agent
that sees the change. Source: D0 "Signal operations in kernel"; D2 section 2.4.1 for errors.
"""

from __future__ import annotations

from collections.abc import Callable

from gpu.errors import PacketError
from gpu.hsa.activities import Steps
from gpu.hsa.signal import ERROR_VALUE, SIGNAL, SignalKind
from gpu.packet_processor.control_port import ControlPort
from runtime.types.atomic_op import AtomicKind


class Completions:
    """Changes signals on behalf of the packet processor. ``interrupt`` is called with event
    numbers."""

    def __init__(self, control: ControlPort, interrupt: Callable[[int], None]) -> None:
        self._control = control
        self._interrupt = interrupt

    def succeed(self, signal: int, times: tuple[int, int] | None = None) -> Steps[None]:
        """Subtract 1, after writing start and end ticks if they are given.

        Raises PacketError if no user signal lies there, and Unmapped.
        """
        if not signal:
            return
        mailbox, event_id = yield from self._look(signal)
        if times is not None:
            start, end = times
            data = start.to_bytes(8, "little") + end.to_bytes(8, "little")
            yield from self._control.store(signal + SIGNAL.field("start_ts").offset, data)
        value = signal + SIGNAL.field("value").offset
        yield from self._control.atomic(AtomicKind.SUB, value, 1)
        yield from self._notify(mailbox, event_id)

    def fail(self, signal: int) -> Steps[None]:
        """Set the error value. Raises as `succeed` does."""
        yield from self.set(signal, ERROR_VALUE)

    def set(self, signal: int, to: int) -> Steps[None]:
        """Set a value. Raises as `succeed` does."""
        if not signal:
            return
        mailbox, event_id = yield from self._look(signal)
        yield from self._control.store_int(signal + SIGNAL.field("value").offset, to)
        yield from self._notify(mailbox, event_id)

    def _look(self, signal: int) -> Steps[tuple[int, int]]:
        """Mailbox and event of a signal."""
        data = yield from self._control.load(signal, SIGNAL.size)
        fields = SIGNAL.unpack(data)
        if fields["kind"] != SignalKind.USER:
            raise PacketError(f"signal {signal:#x} is of kind {SignalKind.USER}", fields["kind"])
        return fields["event_mailbox_ptr"], fields["event_id"]

    def _notify(self, mailbox: int, event_id: int) -> Steps[None]:
        self._control.activities.notify()
        if mailbox:
            yield from self._control.store_int(mailbox, event_id)
            self._interrupt(event_id & 0xFF)
