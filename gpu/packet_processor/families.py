"""A packet and the packets that it has caused, completed as one (D2, appendix A).

Invariant: a signal is looked at only after all before it have come to 0, so that what a parent
launches is counted before the count is compared with 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from gpu.errors import PacketError
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.signal import SIGNAL, SignalKind
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.completion import Completions
from gpu.packet_processor.control_port import ControlPort


def complete_after(
    control: ControlPort, completions: Completions, signals: Sequence[int], whole: int, poll: int
) -> Steps[None]:
    """Decrement ``whole`` after these signals have come to 0, one after the other; set it to the
    error value as soon as one of them is negative or no longer a signal."""
    try:
        for signal in signals:
            if not (yield from _comes_to_zero(control, signal, poll)):
                yield from completions.fail(whole)
                return
        yield from completions.succeed(whole)
    except (PacketError, Unmapped):
        pass  # ``whole`` was destroyed: nothing is left to complete


def call_after(
    control: ControlPort, signal: int, poll: int, function: Callable[[], None]
) -> Steps[None]:
    """Call a function when a signal has come to 0, is negative, or is no longer one."""
    with suppress(Unmapped):  # it was destroyed
        yield from _comes_to_zero(control, signal, poll)
    function()


def _comes_to_zero(control: ControlPort, signal: int, poll: int) -> Steps[bool]:
    """Wait until a signal is 0; False if it has an error instead."""
    activities = control.activities
    while True:
        seen, looked = activities.news.count, activities.happened
        fields = SIGNAL.unpack((yield from control.load(signal, SIGNAL.size)))
        value = fields["value"]
        if value <= 0 or fields["kind"] != SignalKind.USER:
            return value == 0 and fields["kind"] == SignalKind.USER
        why = f"signal {signal:#x} = {value}, of a family of packets"
        yield Pause(poll, activities.news, seen, looked, why)
