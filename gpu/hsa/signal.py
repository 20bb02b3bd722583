"""Signals: 64 bytes in memory that hosts, kernels and the packet processor wait for and change.

Invariant: all state of a signal is in memory; two `Signal` objects with one address are one
signal. Source: D0 "Signals", "AMD Signal Object (amd_signal_t)".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from gpu.errors import HostError
from gpu.hsa.host_memory import Host, PrivateHost
from gpu.hsa.queue_layout import AMD_QUEUE, DWORDS_OF_PACKET
from gpu.hsa.struct_layout import Field, Layout
from runtime.types.atomic_op import AtomicKind

SIGNAL: Final = Layout(
    "amd_signal_t",
    64,
    (
        Field("kind", 0, 8, signed=True),
        Field("value", 8, 8, signed=True),
        Field("event_mailbox_ptr", 16, 8),
        Field("event_id", 24, 4),
        Field("start_ts", 32, 8),
        Field("end_ts", 40, 8),
        Field("queue_ptr", 48, 8),
    ),
)
VALUE: Final = SIGNAL.field("value").offset
ALIGNMENT: Final = 64
ERROR_VALUE: Final = -(1 << 62)
"""The value of a completion signal after an error: the two top bits set, the rest clear (D2)."""

_MASK: Final = (1 << 64) - 1

CONDITIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": lambda value, compare: value == compare,
    "!=": lambda value, compare: value != compare,
    "<": lambda value, compare: value < compare,
    ">=": lambda value, compare: value >= compare,
    ">": lambda value, compare: value > compare,
    "<=": lambda value, compare: value <= compare,
}
"""What a host can wait for; the last two are D2's."""


class SignalKind(IntEnum):
    """What the second eight bytes are."""

    INVALID = 0
    USER = 1
    DOORBELL = -1
    LEGACY_DOORBELL = -2


def signed(value: int) -> int:
    """The low 64 bits as a signed number."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


class Signal:
    """One signal, seen by the host.

    ``Signal(1)`` makes a user signal that belongs to no device yet: the first queue (or
    `gpu.host.device.Device.signal`) that sees it binds it to its memory. The host's operations are
    sequentially consistent, which every order of the specification allows.
    """

    counts_dwords = False
    """Whether it is the legacy doorbell of a queue of GFX7."""

    def __init__(self, value: int = 1) -> None:
        self._host: Host = PrivateHost(SIGNAL.size)
        self._address = 0
        self._host.write(0, SIGNAL.pack({"kind": SignalKind.USER, "value": signed(value)}))

    @classmethod
    def at(cls, host: Host, address: int) -> Signal:
        """The signal that lies there. Raises HostError for an address that no signal can have."""
        if address % ALIGNMENT or not address:
            raise HostError(f"a signal is {ALIGNMENT}-byte aligned and not null, not {address:#x}")
        signal = cls.__new__(cls)
        signal._host, signal._address = host, address
        return signal

    def bind(self, host: Host, address: int) -> None:
        """Move an unbound signal into a device's memory."""
        if self.bound:
            raise HostError(f"{self} is bound already")
        host.write(address, self._host.read(0, SIGNAL.size))
        self._host, self._address = host, address

    @property
    def bound(self) -> bool:
        """Whether it lies in a device's memory."""
        return not isinstance(self._host, PrivateHost)

    def belongs_to(self, host: Host) -> bool:
        """Whether it lies in this device's memory."""
        return self._host is host

    @property
    def handle(self) -> int:
        """The address of the signal: what packets and kernels name it by. Raises HostError while
        unbound."""
        if not self.bound:
            raise HostError("the signal belongs to no device yet, so it has no address")
        return self._address

    def __str__(self) -> str:
        return f"signal {self._address:#x}" if self.bound else "a signal without device"

    # ------------------------------------------------------------------ fields

    def _field(self, name: str) -> int:
        field = SIGNAL.field(name)
        data = self._host.read(self._address + field.offset, field.size)
        return int.from_bytes(data, "little", signed=field.signed)

    def _set(self, name: str, value: int) -> None:
        offset = SIGNAL.field(name).offset
        self._host.write(self._address + offset, SIGNAL.pack_field(name, value))

    @property
    def kind(self) -> SignalKind:
        """Raises HostError if no signal lies there."""
        number = self._field("kind")
        try:
            return SignalKind(number)
        except ValueError:
            raise HostError(f"{self}: {number} is no kind of signal") from None

    @property
    def value(self) -> int:
        """What `load` returns."""
        return self.load()

    @property
    def times(self) -> tuple[int, int]:
        """Ticks at which the packet started and ended, if its queue is profiled."""
        return self._field("start_ts"), self._field("end_ts")

    def notify_by(self, mailbox: int, event_id: int) -> None:
        """Write ``event_id`` to ``mailbox`` and send an interrupt whenever the value changes."""
        self._set("event_id", event_id)
        self._set("event_mailbox_ptr", mailbox)

    # ------------------------------------------------------------------ values

    def load(self) -> int:
        """The value, signed. Raises HostError for a doorbell."""
        self._need_user("load")
        return self._field("value")

    def store(self, value: int) -> None:
        """Set the value, or ring a doorbell with a packet id."""
        kind = self.kind
        if kind is SignalKind.USER:
            self._set("value", signed(value))
            self._notify()
        elif kind is SignalKind.DOORBELL:
            self._write_doorbell(value)
        elif kind is SignalKind.LEGACY_DOORBELL:
            self._store_legacy(value)
        else:
            raise HostError(f"{self} is invalid: nothing can be stored")

    def add(self, operand: int) -> int:
        """The old value, as from all atomics."""
        return self._atomic(AtomicKind.ADD, operand)

    def subtract(self, operand: int) -> int:
        return self._atomic(AtomicKind.SUB, operand)

    def increment(self) -> int:
        return self.add(1)

    def decrement(self) -> int:
        return self.subtract(1)

    def and_(self, operand: int) -> int:
        return self._atomic(AtomicKind.AND, operand)

    def or_(self, operand: int) -> int:
        return self._atomic(AtomicKind.OR, operand)

    def xor(self, operand: int) -> int:
        return self._atomic(AtomicKind.XOR, operand)

    def min(self, operand: int) -> int:
        return self._atomic(AtomicKind.MIN, operand)

    def max(self, operand: int) -> int:
        return self._atomic(AtomicKind.MAX, operand)

    def exchange(self, operand: int) -> int:
        return self._atomic(AtomicKind.EXCHANGE, operand)

    def compare_exchange(self, expected: int, value: int) -> int:
        """Set ``value`` if the old value, which is returned, is ``expected``."""
        return self._atomic(AtomicKind.CAS, value, expected)

    def wait(self, condition: str, compare: int, timeout: int | None = None) -> int:
        """Run the device until the condition holds; the value that was seen.

        ``timeout``: ticks; afterwards the value may be any, so the caller checks it.
        Raises NoProgressError if the condition can never hold and no time-out was given.
        """
        self._need_user("wait")
        if condition not in CONDITIONS:
            raise HostError(f"{condition!r} is no condition; there are {', '.join(CONDITIONS)}")
        holds = CONDITIONS[condition]
        data = self._host.wait(
            self._address + VALUE,
            lambda value: holds(int.from_bytes(value, "little", signed=True), compare),
            timeout,
            f"{self} {condition} {compare}",
        )
        return int.from_bytes(data, "little", signed=True)

    # ------------------------------------------------------------------ parts

    def _need_user(self, operation: str) -> None:
        kind = self.kind
        if kind is not SignalKind.USER:
            name = kind.name.lower().replace("_", " ")
            raise HostError(f"{self} is of kind {name}: {operation} is not defined for it")

    def _atomic(self, op: int, operand: int, compare: int = 0) -> int:
        self._need_user("an atomic")
        where = self._address + VALUE
        old = signed(self._host.atomic(op, where, operand & _MASK, compare & _MASK))
        self._notify()
        return old

    def _notify(self) -> None:
        mailbox = self._field("event_mailbox_ptr")
        if mailbox:
            event_id = self._field("event_id")
            self._host.write(mailbox, event_id.to_bytes(8, "little"))
            self._host.interrupt(event_id & 0xFF)

    def _write_doorbell(self, value: int) -> None:
        address = self._field("value") & _MASK
        self._host.write(address, (value & _MASK).to_bytes(8, "little"))

    def _store_legacy(self, packet_id: int) -> None:
        """Under the queue's lock: the index past the last packet, never backwards."""
        queue = self._field("queue_ptr")
        lock = queue + AMD_QUEUE.field("legacy_doorbell_lock").offset
        highest = queue + AMD_QUEUE.field("max_legacy_doorbell_dispatch_id_plus_1").offset
        while self._host.atomic(AtomicKind.CAS, lock, 1, 0, size=4):
            self._host.wait(
                lock & -8,
                lambda data: not int.from_bytes(data, "little") >> 8 * (lock % 8) & 0xFFFF_FFFF,
                None,
                f"the doorbell lock of queue {queue:#x} to be released",
            )
        try:
            past_last = packet_id + 1 & _MASK
            if past_last > int.from_bytes(self._host.read(highest, 8), "little"):
                self._host.write(highest, past_last.to_bytes(8, "little"))
                self._write_doorbell(self._in_dwords(queue, past_last))
        finally:
            self._host.write(lock, bytes(4))

    def _in_dwords(self, queue: int, index: int) -> int:
        """What the doorbell counts."""
        if not self.counts_dwords:
            return index
        field = AMD_QUEUE.field("size")
        size = int.from_bytes(self._host.read(queue + field.offset, field.size), "little")
        return (index & 2 * size - 1) * DWORDS_OF_PACKET
