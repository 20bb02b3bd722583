"""Takes commands out of a ring of dwords, in order, and carries each out before the next.

The other sequence that a queue can have, beside that of AQL packets. A queue may lose its slot
between two commands, and while a command polls memory; the place in indirect buffers is kept with
the queue.

Invariant: the read pointer in memory passes a command once it, and all indirect buffers that it
starts, are carried out.

Source: D3, "Ring Buffer"; the public headers of the Linux driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final, Protocol

from gpu.errors import GpuError, QueueError
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.queue_state import Connection, QueueKind
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.commands.command_layout import DWORD
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.packet_log import PacketLog
from slicc.text.lazy_dataclass import dataclass

MOST_BUFFERS: Final = 1024
"""Indirect buffers that one command of a ring starts, one after the other."""
MOST_DWORDS: Final = 1 << 20
"""Of these buffers together."""
DEEPEST: Final = 2
"""How many indirect buffers may be under way, one inside the other."""


@dataclass(slots=True)
class Buffer:
    """An indirect buffer: address and dwords of what is left. ``chain``: it replaces the one that
    it is started from."""

    base: int
    left: int
    chain: bool = False


class Language(Protocol):
    """What the dwords of a ring mean."""

    def length(self, header: int) -> int:
        """Dwords of a command. Raises QueueError for one that is not carried out."""

    def name(self, header: int) -> str:
        """The name of a command that has a length."""

    def perform(self, link: Connection, data: bytes) -> Steps[Buffer | None]:
        """Carry a command out; a buffer of commands that is to be next. Raises QueueError and
        Unmapped."""


@dataclass(slots=True)
class Progress:
    """Where a queue is. ``held``: dwords of the ring's command that is under way."""

    buffers: list[Buffer] = field(default_factory=list)
    held: int = 0
    started: int = 0
    dwords: int = 0
    busy: int = 0
    """Ticks in which commands were carried out: the counter behind an SDMA queue's pointer."""


Fail = Callable[[Connection, GpuError], None]


class CommandService:
    """Serves queues of one language. ``fail``: stops a queue. ``delay``: ticks of each command."""

    def __init__(
        self,
        control: ControlPort,
        language: Language,
        log: PacketLog,
        fail: Fail,
        delay: int = 0,
    ) -> None:
        self._control = control
        self._language = language
        self._log = log
        self._fail = fail
        self._delay = delay
        self._progress: dict[Connection, Progress] = {}

    def serve(self, link: Connection) -> Steps[None]:
        """The sequence of one queue; may be cancelled while it is idle."""
        progress = self._progress.get(link)
        if progress is None:
            progress = self._progress[link] = Progress()
        try:
            yield from self._read_pointer(link, progress)
            while link.active:
                yield from self._give_way(link)
                data = yield from self._next(link, progress)
                link.begin_turn(self._control.activities.memory.now)
                if data is not None:
                    yield from self._carry_out(link, progress, data)
        except (QueueError, Unmapped) as error:
            self._fail(link, _located(error, link, progress))
        if not link.active:
            self._progress.pop(link, None)

    def _read_pointer(self, link: Connection, progress: Progress) -> Steps[None]:
        """Where a new queue, or one with another ring, begins."""
        if (link.base, link.size) != link.ring and not progress.held:
            found = yield from self._control.load_int(link.read_pointer, link.kind.pointer_bytes)
            link.begin_at(found)

    def _give_way(self, link: Connection) -> Steps[None]:
        """The turn is over: another queue gets the slot."""
        while link.active and link.gives_way is not None:
            yield from link.rest(Pause(None, link.changed, link.changed.count))

    # ------------------------------------------------------------------ fetching

    def _next(self, link: Connection, progress: Progress) -> Steps[bytes | None]:
        """A whole command; None if the queue has to be looked at again."""
        if progress.buffers:
            return (yield from self._next_of_buffer(progress.buffers[-1]))
        unread = link.promised - link.read_id
        if not unread:
            yield from link.rest(Pause(None, link.changed, link.changed.count))
            return None
        header = yield from self._control.load(link.dword(link.read_id), DWORD)
        length = self._language.length(int.from_bytes(header, "little"))
        if length > link.size:
            raise QueueError(f"a command fits its ring of {link.size} dwords", length)
        if length > unread:
            why = f"{link.name}: a command of {length} dwords, of which {unread} are written"
            yield from link.rest(Pause(None, link.changed, link.changed.count, why=why))
            return None
        return header + (yield from self._body(link, length - 1))

    def _body(self, link: Connection, length: int) -> Steps[bytes]:
        first = link.read_id + 1
        before_end = min(length, link.size - first % link.size)
        data = yield from self._control.load(link.dword(first), DWORD * before_end)
        if before_end < length:
            data += yield from self._control.load(link.base, DWORD * (length - before_end))
        return data

    def _next_of_buffer(self, buffer: Buffer) -> Steps[bytes]:
        header = yield from self._control.load(buffer.base, DWORD)
        length = self._language.length(int.from_bytes(header, "little"))
        if length > buffer.left:
            raise QueueError(f"a command fits the {buffer.left} dwords that are left", length)
        body = yield from self._control.load(buffer.base + DWORD, DWORD * (length - 1))
        return header + body

    # ------------------------------------------------------------------ carrying out

    def _carry_out(self, link: Connection, progress: Progress, data: bytes) -> Steps[None]:
        if self._delay:
            yield Pause(self._delay)
        place = (link.read_id, progress.started, *(each.left for each in progress.buffers))
        if link.begun_command != place:  # it may be fetched again, after another queue's turn
            link.begun_command = place
            name = self._language.name(int.from_bytes(data[:DWORD], "little"))
            self._log.command(link, name)
        begun = self._now
        started = yield from self._language.perform(link, data)
        progress.busy += self._now - begun
        if not link.active:
            return
        self._log.command_done(link)
        self._advance(progress, len(data) // DWORD)
        if started is not None:
            self._start(progress, started)
        while progress.buffers and not progress.buffers[-1].left:
            progress.buffers.pop()
        if not progress.buffers:
            yield from self._pass(link, progress)

    @property
    def _now(self) -> int:
        return self._control.activities.memory.now

    def _advance(self, progress: Progress, length: int) -> None:
        if progress.buffers:
            progress.buffers[-1].left -= length
            progress.buffers[-1].base += DWORD * length
        else:
            progress.held = length

    def _start(self, progress: Progress, buffer: Buffer) -> None:
        """Begin an indirect buffer. Raises QueueError when there are too many."""
        if buffer.chain:
            if not progress.buffers:
                raise QueueError("a buffer is chained to a buffer", "a ring")
            progress.buffers.pop()
        progress.started += 1
        progress.dwords += buffer.left
        if progress.dwords > MOST_DWORDS:
            raise QueueError("buffers that a command starts have a bounded size", progress.dwords)
        if progress.started > MOST_BUFFERS:
            raise QueueError("a command starts a bounded number of buffers", progress.started)
        if len(progress.buffers) == DEEPEST:
            raise QueueError(f"buffers are started at most {DEEPEST} deep", DEEPEST + 1)
        progress.buffers.append(buffer)

    def _pass(self, link: Connection, progress: Progress) -> Steps[None]:
        """The read pointer passes the ring's command."""
        link.read_id += progress.held
        progress.held = progress.started = progress.dwords = 0
        data = link.pointer_value.to_bytes(link.kind.pointer_bytes, "little")
        if link.kind is QueueKind.SDMA:
            data += progress.busy.to_bytes(8, "little")
        yield from self._control.store(link.read_pointer, data)


def _located(error: QueueError | Unmapped, link: Connection, progress: Progress) -> QueueError:
    if isinstance(error, Unmapped):
        error = QueueError("every address that a command names is mapped", error)
    where = f"{link.name}, dword {link.read_id % max(1, link.size)}"
    if progress.buffers:
        where += f", in an indirect buffer at {progress.buffers[-1].base:#x}"
    error.locate(where)
    return error
