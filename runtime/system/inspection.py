"""Looking into a system from outside of time: what is left behind, where a line's bytes are.

Works on any controller, because it finds tables, entries and blocks by their class. Invariant:
nothing here changes anything, and the cost is paid by reports, not by runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from runtime.structures.tbe_table import TBETable, TimerTable
from runtime.types.message import Message, kind_of
from runtime.types.messages import AccessPermission
from runtime.types.values import DataBlock, WriteMask

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller
    from runtime.network.network import Network, Topology
    from runtime.requesters.base import RequesterBase
    from runtime.sim.engine import Engine
    from runtime.sim.message_buffer import MessageBuffer
    from runtime.structures.main_memory import Memory


class Inspected(Protocol):
    """The parts of a built system that are looked into."""

    @property
    def engine(self) -> Engine: ...

    @property
    def topology(self) -> Topology: ...

    @property
    def network(self) -> Network: ...

    @property
    def memory(self) -> Memory: ...

    @property
    def controllers(self) -> Sequence[Controller]: ...

    @property
    def requesters(self) -> Sequence[RequesterBase]: ...

    @property
    def idle_requesters(self) -> Sequence[RequesterBase]: ...

    @property
    def buffers(self) -> Mapping[str, MessageBuffer]: ...


class Copy(Struct, frozen=True):
    """The bytes of one line in one place.

    ``kind`` is ``cache``, ``tbe``, ``message`` or ``memory``; ``state`` that of the line, or what a
    message says. ``data`` is the line as a little-endian integer, ``mask`` the byte-expanded mask
    kept with it (None: none is kept).
    """

    kind: str
    where: str
    state: str
    line: int
    data: int
    mask: int | None = None
    permission: int = AccessPermission.NotPresent

    def byte(self, address: int) -> int:
        """The byte at an address of this line."""
        return self.data >> 8 * (address - self.line) & 0xFF

    def holds(self, address: int) -> bool:
        """Whether the mask, if one is kept, selects the byte."""
        return self.mask is None or self.mask >> 8 * (address - self.line) & 1 == 1


def attributes(thing: object) -> Iterator[tuple[str, Any]]:
    """Names and values of an object's own attributes, slots of base classes first."""
    for cls in reversed(type(thing).__mro__):
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(thing, name):
                yield name, getattr(thing, name)
    yield from getattr(thing, "__dict__", {}).items()


def state_name(controller: Controller, record: object) -> str:
    """The state that an entry or TBE notes, by the machine's own name; empty if it notes none."""
    for name, value in attributes(record):
        if name.endswith("State") and isinstance(value, int) and not isinstance(value, bool):
            return controller.STATES.name_of(value)
    return ""


# ------------------------------------------------------------------ leaks


class Leak(NamedTuple):
    """Something that should be empty in a system at rest and is not; ``line`` -1: of no line."""

    line: int
    text: str


def leaks(system: Inspected) -> list[Leak]:
    """Everything that is left: of controllers first, then messages, then of requesters."""
    found: list[Leak] = []
    for controller in system.controllers:
        found.extend(_controller_leaks(controller))
    for name, buffer in system.buffers.items():
        found.extend(
            _left(message, f"{name}: {message!r} was never taken") for message in buffer.messages
        )
        found.extend(
            Leak(line, f"{name}: {message!r} waits for line {line:#x}")
            for line in sorted(buffer.stalled)
            for message in buffer.stalled[line]
        )
    found.extend(
        _left(message, f"{where}: {message!r} is under way")
        for where, message in _under_way(system)
    )
    for requester in (*system.requesters, *system.idle_requesters):
        found.extend(Leak(-1, text) for text in requester.leaks())
    return found


def _left(message: Message, text: str) -> Leak:
    return Leak(message.line_address() if message.LINE_FIELD else -1, text)


def _controller_leaks(controller: Controller) -> Iterator[Leak]:
    for _, table in attributes(controller):
        if isinstance(table, TBETable):
            for line in sorted(table.records):
                state = state_name(controller, table.records[line])
                text = f"{controller!r}: {table.name} still has line {line:#x} {state}".rstrip()
                yield Leak(line, text)
        elif isinstance(table, TimerTable) and len(table):
            yield Leak(-1, f"{controller!r}: {len(table)} alarms of {table.name} are set")
    for line in sorted(controller.waiting):
        yield Leak(line, f"{controller!r}: messages wait for line {line:#x}")
    for line in sorted(controller.blocked):
        yield Leak(line, f"{controller!r}: line {line:#x} is locked")


def _under_way(system: Inspected) -> Iterator[tuple[str, Message]]:
    """Messages that the engine or the network holds, with where they go."""
    receivers = {id(buffer.messages): name for name, buffer in system.buffers.items()}
    receivers |= {id(buffer): name for name, buffer in system.buffers.items()}
    slots = system.engine.slots
    for tick in sorted(slots):
        for put, item, _ in slots[tick]:
            if isinstance(item, Message):
                owner = getattr(put, "__self__", None)
                owner = getattr(owner, "buffer", owner)
                yield f"{receivers.get(id(owner), 'network')} at tick {tick}", item
    for message in system.network.held_messages():
        yield "network", message


# ------------------------------------------------------------------ copies


def copies(system: Inspected, address: int) -> list[Copy]:
    """Every place that has bytes of the address's line: caches, TBEs, messages, memory."""
    size = system.topology.line_size
    line = address & -size
    found: list[Copy] = []
    for controller in system.controllers:
        found.extend(held(controller, line))
    for name, buffer in system.buffers.items():
        stalled = [message for waiting in buffer.stalled.values() for message in waiting]
        for message in (*buffer.messages, *stalled):
            found.extend(carried(name, line, size, message))
    for name, message in _under_way(system):
        found.extend(carried(name, line, size, message))
    data = system.memory.read_line(line)
    found.append(Copy("memory", "memory", "", line, data))
    return found


def held(controller: Controller, line: int) -> Iterator[Copy]:
    """The blocks of one line in a controller's caches and TBEs."""
    for cache in controller.caches():
        entry = cache.visible.get(line)
        if entry is not None:
            yield from _blocks(controller, "cache", cache.name, line, entry)
    for _, table in attributes(controller):
        if isinstance(table, TBETable) and line in table.records:
            where = f"{controller!r} {table.name}"
            yield from _blocks(controller, "tbe", where, line, table.records[line])


def _blocks(
    controller: Controller, kind: str, where: str, line: int, record: object
) -> Iterator[Copy]:
    state = state_name(controller, record)
    permission = getattr(record, "permission", AccessPermission.NotPresent)
    mask = None
    blocks = []
    for name, value in attributes(record):
        if isinstance(value, WriteMask) and mask is None:
            mask = value.bits
        elif isinstance(value, DataBlock):
            blocks.append((name, value.data))
    for name, data in blocks:
        place = where if len(blocks) == 1 else f"{where} {name}"
        yield Copy(kind, place, state, line, data, mask, permission)


def carried(where: str, line: int, size: int, message: Message) -> Iterator[Copy]:
    """Blocks that the message really carries: those that its sender stored in it."""
    if not line <= message.line_address() < line + size:
        return
    mask = None
    for value in vars(message).values():
        if isinstance(value, WriteMask):
            mask = value.bits
    for value in vars(message).values():
        if isinstance(value, DataBlock):
            yield Copy("message", where, kind_of(message), line, value.data, mask)
