"""Inspects a stopped system: which controllers hold a line, and which messages are about it.

Only reports use it, after a run is over. It asks controllers through what every one has (ports,
tables, caches), so it knows no protocol. Invariant: looking changes nothing, and a protocol
function that fails while it is asked costs one field of the report, never the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runtime.controller.source_location import transition_location
from runtime.errors import ProtocolError
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import CacheMemory, PerfectCacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.tbe_table import TBETable
from runtime.types.message import Message, kind_of
from runtime.types.messages import AccessPermission
from slicc.text.lazy_dataclass import dataclass
from tester.diagnosis.events.message_text import details_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message about a line that has not been consumed."""

    buffer: str
    place: str
    """``arrived``, ``under way`` or ``stalled``."""
    message: Message
    behind: int = -1
    """Line of the message at the head of the queue, when that is another one."""
    until: int = -1
    """The line that has to be woken up before it is looked at again, when that is another one."""

    def __str__(self) -> str:
        details = details_of(self.message)
        text = kind_of(self.message) + (f" ({details})" if details else "")
        text += f" sent at {self.message.created:,}, {self.place} in {self.buffer}"
        if self.until >= 0:
            text += f" until line {self.until:#x} is woken up"
        return text if self.behind < 0 else f"{text}, behind one for line {self.behind:#x}"


def controller_name(controller: Any) -> str:
    """``TCP 1``: machine and version."""
    return f"{controller.MACHINE} {controller.version}"


def tables_of(controller: Any) -> list[TBETable[Any]]:
    """The transaction tables of a controller, in order of construction."""
    return [value for value in attributes(controller) if isinstance(value, TBETable)]


def attributes(controller: Any) -> list[Any]:
    """Values of the machine's own attributes, each object once."""
    seen: dict[int, Any] = {}
    for value in getattr(controller, "__dict__", {}).values():
        seen.setdefault(id(value), value)
    return list(seen.values())


def record_of(controller: Any, line: int) -> Any:
    """The controller's transaction record of a line, or None."""
    for table in tables_of(controller):
        if line in table.records:
            return table.records[line]
    return None


def entry_of(controller: Any, line: int) -> Any:
    """The entry of a line in the controller's caches and directories, or None."""
    for held in attributes(controller):
        if isinstance(held, CacheMemory) and line in held.visible:
            return held.visible[line]
        if isinstance(held, (PerfectCacheMemory, DirectoryMemory)) and line in held.records:
            return held.records[line]
    return None


def is_busy(controller: Any, line: int, line_size: int) -> bool:
    """Whether a controller has more to do about a line: a transaction, a transient state, messages
    that it has not taken."""
    return is_open(controller, line) or bool(messages_about(controller, line, line_size))


def is_open(controller: Any, line: int) -> bool:
    """Whether a controller has begun something about a line: a transaction, a busy state."""
    if record_of(controller, line) is not None:
        return True
    state = _state_number(controller, line)
    known = state is not None and 0 <= state < len(controller.PERMISSIONS)
    return known and controller.PERMISSIONS[state] == AccessPermission.Busy


def state_of(controller: Any, line: int) -> str:
    """Name of the line's state; empty when the controller does not know it."""
    state = _state_number(controller, line)
    return "" if state is None else str(controller.STATES.name_of(state))


def _state_number(controller: Any, line: int) -> int | None:
    try:
        get_state = controller.accessors()[0]
        return int(get_state(record_of(controller, line), entry_of(controller, line), line))
    except Exception:
        # The protocol's own function fails: the report omits this field.
        return None


def messages_about(controller: Any, line: int, line_size: int) -> list[Waiting]:
    """Messages in the controller's in-buffers that are about a line."""
    found = []
    mask = -line_size
    for port in controller.ports:
        buffer = port.buffer
        if not isinstance(buffer, MessageBuffer):
            continue
        head = buffer.messages[0].line_address() & mask if buffer.messages else line
        found += [
            Waiting(buffer.name, "arrived", m, head if head != line else -1)
            for m in buffer.messages
            if m.line_address() & mask == line
        ]
        found += [
            Waiting(buffer.name, "under way", m)
            for m in buffer.engine.in_flight(buffer)
            if m.line_address() & mask == line
        ]
        found += [
            Waiting(buffer.name, "stalled", m, until=where if where != line else -1)
            for where, stalled in buffer.stalled.items()
            for m in stalled
            if where == line or m.line_address() & mask == line
        ]
    return found


def stalled_lines(controller: Any) -> Iterator[tuple[str, int, int]]:
    """(buffer, line, messages) of everything that waits in a stall list."""
    for port in controller.ports:
        if isinstance(port.buffer, MessageBuffer):
            for line in sorted(port.buffer.stalled):
                yield port.buffer.name, line, len(port.buffer.stalled[line])


def failed_controller(controllers: Iterable[Any], error: ProtocolError | None) -> Any:
    """The controller that an error happened in; None if in none."""
    if error is None:
        return None
    name = f"{error.machine} {error.version}"
    return next((each for each in controllers if controller_name(each) == name), None)


def head_message(controller: Any) -> Message | None:
    """The message at the head of the in-port that a controller polled last, if there is one."""
    buffer = getattr(getattr(controller, "current", None), "buffer", None)
    if isinstance(buffer, MessageBuffer) and buffer.messages:
        return buffer.messages[0]
    return None


def waits_for(controllers: Iterable[Any], line: int, line_size: int) -> list[int]:
    """The line, and others that must be woken up before messages about it are looked at again."""
    lines = [line]
    for each in lines:
        for controller in controllers:
            for waiting in messages_about(controller, each, line_size):
                if waiting.until >= 0 and waiting.until not in lines:
                    lines.append(waiting.until)
    return lines


def transitions_of(kind: type) -> list[tuple[str, str, str]]:
    """(state, event, location) of all transitions of a machine."""
    table: Any = getattr(kind, "TRANSITIONS", {})
    states: Any = getattr(kind, "STATES", None)
    events: Any = getattr(kind, "EVENTS", None)
    return [
        (states.name_of(s), events.name_of(e), transition_location(kind, s, e))
        for s, e in sorted(table)
    ]
