"""The fast send path: into a buffer without limits, while no observer is attached.

More than one message is sent for every transition, so this is written out once as a closure, in
which everything that stays the same is a local name. Invariant: a path does what
``Channel.send`` and ``MessageBuffer.send`` do for the same message, only faster; it is not
taken with a negative latency, nor by a message that may overtake in an ordered buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import TYPE_CHECKING, Protocol

from runtime.sim.delay_policy import MASK32, STEP_FACTOR, STEP_TERM, ChannelDelays

if TYPE_CHECKING:
    from runtime.sim.delay_policy import Delays
    from runtime.sim.engine import Engine, Receiver
    from runtime.types.message import Message

SendPath = Callable[["Message", int], None]
"""``send(message, cycles)``: it arrives after the cycles and the delay of its channel."""


class Sender(Protocol):
    """What sends into a buffer: a channel, or the buffer itself."""

    @property
    def ordered(self) -> bool: ...

    @property
    def delays(self) -> Delays | None: ...

    def in_order(self, tick: int, /) -> int:
        """The arrival of a message due at ``tick``, no earlier than that of the one before."""


def fast_send_path(channel: Sender, engine: Engine, buffer: Receiver) -> SendPath | None:
    """A path into a buffer that has its consumer. Both stay as they are from now on.

    None: the channel's delays are scripted, which is rare.
    """
    delays = channel.delays
    if delays is not None and not isinstance(delays, ChannelDelays):
        return None
    put = buffer.put
    bit = buffer.bit
    slots = engine.slots
    slot_at = slots.get
    wakes = engine.wakes
    ticks = engine.ticks
    in_order = channel.in_order if channel.ordered else None
    delayed = delays is not None
    if delays is not None:
        line_bits = delays.line_bits
        states = delays.states
        state_of = states.get
        first_state = delays.first_state
        table = delays.table

    def send(message: Message, cycles: int) -> None:
        now = engine.now
        tick = now + cycles
        if delayed:
            # ChannelDelays.next
            field = message.LINE_FIELD
            line = 0 if field is None else getattr(message, field) >> line_bits
            state = state_of(line)
            if state is None:
                state = first_state(line)
            states[line] = (state * STEP_FACTOR + STEP_TERM) & MASK32
            tick += table[state >> 20]
        if in_order is not None:
            tick = in_order(tick)
        sequence = engine.sequence
        engine.sequence = sequence + 1
        message.sequence = sequence
        message.created = now
        message.arrival = tick
        slot = slot_at(tick)
        if slot is not None:
            slot.append((put, message, bit))
            return
        slots[tick] = [(put, message, bit)]
        if tick not in wakes:
            heappush(ticks, tick)

    return send
