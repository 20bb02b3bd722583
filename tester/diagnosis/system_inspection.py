"""Inspects a stopped system: which controllers hold a line, and which messages are about it.

Only reports use it, after a run is over. It asks controllers through what every one has (ports,
tables, caches), so it knows no protocol. Invariant: looking changes nothing, and a protocol
function that fails while it is asked costs one field of the report, never the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import CacheMemory, PerfectCacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.tbe_table import TBETable
from runtime.types.message import Message, kind_of
from tester.diagnosis.message_text import details_of


@dataclass(frozen=True)
class Waiting:
    """A message about a line that has not been consumed."""

    buffer: str
    place: str
    """``arrived``, ``under way`` or ``stalled``."""
    message: Message
    behind: int = -1
    """Line of the message at the head of the queue, when that is another one."""

    def __str__(self) -> str:
        details = details_of(self.message)
        text = kind_of(self.message) + (f" ({details})" if details else "")
        text += f" sent at {self.message.created:,}, {self.place} in {self.buffer}"
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


def state_of(controller: Any, line: int) -> str:
    """Name of the line's state; empty when the controller does not know it."""
    try:
        get_state = controller.accessors()[0]
        state = get_state(record_of(controller, line), entry_of(controller, line), line)
        return str(controller.STATES.name_of(state))
    except Exception:
        # The protocol's own function fails: the report omits this field.
        return ""


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
            Waiting(buffer.name, "stalled", m)
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
