"""Commands that wait until a dword of memory compares with a number as they say.

Invariant: a queue may lose its slot between two polls, and polls again when it has one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from gpu.errors import QueueError
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.queue_state import Connection
from gpu.packet_processor.control_port import ControlPort
from slicc.text.lazy_dataclass import dataclass

_FUNCTIONS: Final[tuple[tuple[str, Callable[[int, int], bool]], ...]] = (
    ("is anything, not", lambda value, reference: True),
    ("<", operator.lt),
    ("<=", operator.le),
    ("==", operator.eq),
    ("!=", operator.ne),
    (">=", operator.ge),
    (">", operator.gt),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition on the dword at ``address``, of which ``mask`` is compared. ``function``: 0 to
    6."""

    address: int
    function: int
    reference: int
    mask: int

    def check(self, command: str) -> None:
        """Raises QueueError for a function that does not exist."""
        if self.function >= len(_FUNCTIONS):
            raise QueueError(f"{command}: a function is 0 to 6", self.function)

    def holds(self, found: int) -> bool:
        return _FUNCTIONS[self.function][1](found & self.mask, self.reference)

    def why(self, found: int) -> str:
        """What the queue waits for, as text."""
        sign = _FUNCTIONS[self.function][0]
        return f"{self.address:#x} {sign} {self.reference:#x}, it is {found & self.mask:#x}"


def poll(
    control: ControlPort,
    link: Connection,
    condition: Condition,
    ticks: int,
    most: int | None = None,
) -> Steps[None]:
    """Until the condition holds or the queue is stopped. ``most``: polls after which a queue is
    wrong; None for any number. Raises QueueError and Unmapped."""
    activities, polls = control.activities, 0
    while link.active:
        seen, looked = activities.news.count, activities.happened
        found = yield from control.load_int(condition.address, 4)
        if condition.holds(found):
            return
        polls += 1
        why = f"{link.name} waits for {condition.why(found)}"
        if most is None:
            yield from link.rest(Pause(ticks, activities.news, seen, looked, why))
            continue
        if polls >= most:
            raise QueueError(f"memory changes within {most} polls", condition.why(found))
        yield Pause(ticks)
