"""Signals of contexts.

A handle is the address of an ``amd_signal_t``; a destroyed signal is one of kind *invalid*, so that
a packet that still names it completes with an error. The orders of D2 (release, relaxed,
acquire-release) are checked and otherwise alike: operations are sequentially consistent.

Invariant: which signals exist, and what they are bound to, is known here; their values are in
memory alone. Source: D2, section 2.4.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from gpu.errors import HostError
from gpu.host.core_api.contexts import Context, ContextCalls
from gpu.host.core_api.status import Outcome, Status, call, call_with_output, need
from gpu.host.device import Device
from gpu.host.processes.process import Process
from gpu.hsa.signal import CONDITIONS, SIGNAL, VALUE, Signal, SignalKind

TIMEOUT_TICKS: Final = 1 << 16
"""What a wait takes at most, unless the runtime is made with another number."""
RELEASE, RELAXED, ACQUIRE, BOTH = "release", "relaxed", "acquire", "acquire_release"


class Condition(IntEnum):
    """``hsa_signal_condition_t``."""

    EQUALS = 0
    NOTEQUALS = 1
    GREATER = 2
    GREATER_EQUALS = 3
    LESSER = 4
    LESSER_EQUALS = 5


_HOLDS: Final = dict(
    zip(Condition, (CONDITIONS[text] for text in ("==", "!=", ">", ">=", "<", "<=")), strict=True)
)


class SignalCalls(ContextCalls):
    """``timeout_ticks``: what `signal_get_timeout` returns."""

    def __init__(self, device: Device | Process, timestamp_mhz: int, timeout_ticks: int) -> None:
        super().__init__(device, timestamp_mhz)
        if timeout_ticks < 0:
            raise HostError(f"a wait takes 0 ticks or more, not {timeout_ticks}")
        self._timeout_ticks = timeout_ticks
        self._signals: dict[int, tuple[Signal, list[Context]]] = {}
        """By handle: the signal, and the contexts to which it is bound, the first one first."""

    # ------------------------------------------------------------------ their life

    @call_with_output
    def signal_create(self, initial_value: int, context: Context | None) -> int:
        """``hsa_signal_create``: the handle."""
        context = self._valid(context)
        signal = self.device.signal(_value(initial_value))
        self._signals[signal.handle] = signal, [context]
        return signal.handle

    @call
    def signal_destroy(self, handle: int) -> None:
        """``hsa_signal_destroy``."""
        self._signal(handle)
        self._destroy(handle)

    @call
    def signal_bind(self, handle: int, context: Context | None) -> None:
        """``hsa_signal_bind``; binding twice is binding once."""
        bound, context = self._bound(handle), self._valid(context)
        if context not in bound:
            bound.append(context)

    @call
    def signal_unbind(self, handle: int, context: Context | None) -> None:
        """``hsa_signal_unbind``."""
        bound, context = self._bound(handle), self._valid(context)
        if context not in bound:
            raise Outcome(Status.ERROR_SIGNAL_NOT_BOUND)
        bound.remove(context)

    def _destroy(self, handle: int) -> None:
        kind = SIGNAL.field("kind")
        self.device.host.write(handle + kind.offset, SIGNAL.pack_field("kind", SignalKind.INVALID))
        del self._signals[handle]

    def _relinquish(self) -> None:
        super()._relinquish()
        for handle in list(self._signals):
            self._destroy(handle)

    # ------------------------------------------------------------------ values

    @call
    def signal_send(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_send_release``, ``_relaxed``."""
        self._sending(handle, order).store(_value(value))

    @call
    def signal_add(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_add_release``, ``_relaxed``."""
        self._sending(handle, order).add(_value(value))

    @call
    def signal_subtract(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_subtract_release``, ``_relaxed``."""
        self._sending(handle, order).subtract(_value(value))

    @call
    def signal_increment(self, handle: int, order: str = RELEASE) -> None:
        """``hsa_signal_increment_release``, ``_relaxed``."""
        self._sending(handle, order).increment()

    @call
    def signal_decrement(self, handle: int, order: str = RELEASE) -> None:
        """``hsa_signal_decrement_release``, ``_relaxed``."""
        self._sending(handle, order).decrement()

    @call
    def signal_and(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_and_release``, ``_relaxed``."""
        self._sending(handle, order).and_(_value(value))

    @call
    def signal_or(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_or_release``, ``_relaxed``."""
        self._sending(handle, order).or_(_value(value))

    @call
    def signal_xor(self, handle: int, value: int, order: str = RELEASE) -> None:
        """``hsa_signal_xor_release``, ``_relaxed``."""
        self._sending(handle, order).xor(_value(value))

    @call_with_output
    def signal_exchange(self, handle: int, value: int, order: str = RELEASE) -> int:
        """``hsa_signal_exchange_release``, ``_relaxed``: the old value."""
        return self._sending(handle, order).exchange(_value(value))

    @call_with_output
    def signal_cas(self, handle: int, expected: int, value: int, order: str = RELEASE) -> int:
        """``hsa_signal_cas_release``: the old value."""
        return self._sending(handle, order, RELEASE).compare_exchange(
            _value(expected), _value(value)
        )

    @call_with_output
    def signal_max(self, handle: int, value: int, order: str = BOTH) -> int:
        """``hsa_signal_max``: the old value."""
        return self._sending(handle, order, BOTH, RELAXED).max(_value(value))

    @call_with_output
    def signal_min(self, handle: int, value: int, order: str = BOTH) -> int:
        """``hsa_signal_min``: the old value."""
        return self._sending(handle, order, BOTH, RELAXED).min(_value(value))

    # ------------------------------------------------------------------ waiting

    def signal_get_timeout(self) -> int:
        """``hsa_signal_get_timeout``: the most ticks of a wait."""
        return self._timeout_ticks

    @call_with_output
    def signal_query(self, handle: int) -> int:
        """``hsa_signal_query_acquire``: the value now."""
        return self._signal(handle).value

    @call_with_output
    def signal_wait(self, handle: int, condition: int, compare: int, order: str = ACQUIRE) -> int:
        """``hsa_signal_wait_acquire``, ``_acquire_release``: the value that was seen last.

        Its status is an error for any negative value, which also ends the wait, and information if
        the condition was not met in time; contexts that the signal is bound to are notified.
        """
        signal = self._sending(handle, order, ACQUIRE, BOTH)
        need(condition in _HOLDS)
        holds, compare = _HOLDS[Condition(condition)], _value(compare)
        value = self._wait(signal, lambda value: value < 0 or holds(value, compare))
        if value < 0:
            for context in list(self._bound(handle)):
                self._report(context, Status.ERROR, f"{signal} has the value {value}")
            raise Outcome(Status.ERROR, value)
        if not holds(value, compare):
            for context in list(self._bound(handle)):
                self._notify(context, Status.INFO_SIGNAL_TIMEOUT)
            raise Outcome(Status.INFO_SIGNAL_TIMEOUT, value)
        return value

    def _wait(self, signal: Signal, accept: Callable[[int], bool]) -> int:
        data = self.device.host.wait(
            signal.handle + VALUE,
            lambda data: accept(int.from_bytes(data, "little", signed=True)),
            self._timeout_ticks,
            str(signal),
        )
        return int.from_bytes(data, "little", signed=True)

    # ------------------------------------------------------------------ arguments

    def _signal(self, handle: int) -> Signal:
        need(handle in self._signals)
        return self._signals[handle][0]

    def _bound(self, handle: int) -> list[Context]:
        need(handle in self._signals)
        return self._signals[handle][1]

    def _sending(self, handle: int, order: str, *orders: str) -> Signal:
        need(order in (orders or (RELEASE, RELAXED)))
        return self._signal(handle)


def _value(value: int) -> int:
    """A signal's value has 64 bits, signed. Raises Outcome."""
    need(-(1 << 63) <= value < 1 << 63)
    return value
