"""Records a run: every request with its ticks, and every transition of the lines of interest.

Switched on only when a failing leg is run again (same leg, same run), so that remembering costs
nothing while nothing is wrong. Invariant: rows stand in the order in which things happened;
nothing is sorted afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from runtime.controller.source_location import transition_location
from runtime.requesters.port import AccessKind
from runtime.types.message import Message
from tester.diagnosis.message_rows import MessageRows, Send
from tester.diagnosis.system_inspection import controller_name
from tester.execution.events import Request, Role
from tester.limits import HISTORY_ROWS

_SHOWN_LANES: Final = 3


@dataclass(frozen=True)
class Row:
    """One thing that happened: a transition, or something at a port."""

    tick: int
    who: str
    what: str
    change: str
    where: str = ""
    touched: bool = False
    """Whether it concerns the very bytes that failed."""
    line: int = -1


class Record:
    """When the parts of one request were answered (-1: not yet), and with what."""

    __slots__ = ("answered", "completed", "finished", "request", "values")

    def __init__(self, request: Request) -> None:
        count = len(request.addresses)
        self.request = request
        self.answered = [-1] * count
        self.completed = [-1] * count
        self.values = [0] * count
        self.finished = -1
        """Tick of the end of a synchronisation."""


class History:
    """An observer of requests and of controllers.

    ``lines`` are the lines whose transitions are kept; None keeps those of all lines (the last
    ones: for failures that have no address); ``failed`` are the byte addresses in question.
    """

    def __init__(
        self, lines: Iterable[int] | None, line_size: int, failed: range = range(0)
    ) -> None:
        self.lines = None if lines is None else set(lines)
        self._rows: deque[Row] = deque(maxlen=HISTORY_ROWS)
        self._messages: MessageRows | None = None
        self._sent: list[Send] = []
        """Sends of which there is no row yet: those of a transition come after its own."""
        self.records: dict[int, Record] = {}
        self.transitions = 0
        self.bytes = failed
        self._line_mask = -line_size

    @property
    def rows(self) -> Sequence[Row]:
        """What happened so far, the sends of a transition that failed included."""
        self._add_sends()
        return self._rows

    # ------------------------------------------------------------------ controllers

    def watch_messages(self, system: Any) -> None:
        """Note sends as well, and which message each transition took."""
        self._messages = MessageRows(system, self._concerns, self._sent)

    def _concerns(self, message: Message) -> bool:
        return self.lines is None or self._line_of(message) in self.lines

    def _line_of(self, message: Message) -> int:
        return message.line_address() & self._line_mask

    def _add_sends(self, wanted: Callable[[Send], bool] = lambda send: True) -> None:
        """Rows of the sends that are wanted; the others wait."""
        self._rows += [
            Row(each.tick, each.sender, str(each), "", line=self._line_of(each.message))
            for each in self._sent
            if wanted(each)
        ]
        self._sent[:] = [each for each in self._sent if not wanted(each)]

    def transition(
        self,
        controller: Any,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
    ) -> None:
        """Called by a controller after each of its transitions."""
        self.transitions += 1
        if self.lines is not None and address & self._line_mask not in self.lines:
            return
        states = controller.STATES
        before, after = states.name_of(state), states.name_of(next_state)
        change = before if before == after else f"{before} -> {after}"
        what = controller.EVENTS.name_of(event)
        if comment:
            what = f"{what} ({comment})"
        if self._messages is not None:
            taken = self._messages.taken_by(controller)
            what = " ".join([what, *(f"on {text}" for text in taken)])
        who, now = controller_name(controller), controller.engine.now
        self._add_sends(lambda send: send.sender != who)
        where = transition_location(type(controller), state, event)
        line = address & self._line_mask
        self._rows.append(Row(now, who, what, change, where, line=line))
        self._add_sends()

    # ------------------------------------------------------------------ ports

    def issued(self, request: Request, tick: int) -> None:
        self.records[request.identity] = Record(request)
        values = request.values if request.kind == AccessKind.STORE else None
        self._port(tick, request, range(len(request.addresses)), values, "issued")

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        record = self.records[request.identity]
        mask = (1 << 8 * request.size) - 1
        right = True
        for index in indices:
            value = data >> 8 * max(0, request.addresses[index] - line) & mask
            record.answered[index] = tick
            record.values[index] = value
            right = right and (not request.expected or value == request.expected[index])
        self._port(tick, request, indices, record.values, "data" if right else "WRONG DATA")

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        for index in indices:
            self.records[request.identity].answered[index] = tick
        self._port(tick, request, indices, None, "accepted")

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        for index in indices:
            self.records[request.identity].completed[index] = tick
        self._port(tick, request, indices, None, "complete")

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        record = self.records[request.identity]
        for index in indices:
            record.answered[index] = tick
        for index, value in zip(indices, values):
            record.values[index] = value
        shown = record.values if values else None
        self._port(tick, request, indices, shown, "returned" if values else "performed")

    def synchronized(self, request: Request, tick: int) -> None:
        self.records[request.identity].finished = tick

    # ------------------------------------------------------------------ queries

    def of_action(self, row: int) -> Record | None:
        """The record of an action of the program."""
        for record in self.records.values():
            request = record.request
            if request.has_row(row) and request.role == Role.ACTION:
                return record
        return None

    def of_episode(self, episode: int, role: int) -> Record | None:
        """The record of an episode's opening, acquire, release or closing."""
        for record in self.records.values():
            request = record.request
            if request.episode == episode and request.role == role:
                return record
        return None

    def returns_of(self, address: int, value: int) -> list[tuple[Record, int]]:
        """All fetch-adds of ``address`` that returned ``value``: (record, index)."""
        return [
            (record, index)
            for record in self.records.values()
            if record.request.kind == AccessKind.ATOMIC
            for index, where in enumerate(record.request.addresses)
            if not record.request.quiet
            and where == address
            and record.answered[index] >= 0
            and record.values[index] == value
        ]

    # ------------------------------------------------------------------ rows

    def _port(
        self,
        tick: int,
        request: Request,
        indices: Sequence[int],
        values: list[int] | None,
        change: str,
    ) -> None:
        """One row per line of interest: ``load/4 +2c=0x63 (lane 7)``, offsets in hexadecimal."""
        if self.lines is None:
            return
        self._add_sends(lambda send: send.tick < tick)
        by_line: dict[int, list[_Part]] = {}
        for part in _parts(request, indices, values):
            line = part.address & self._line_mask
            if line in self.lines:
                by_line.setdefault(line, []).append(part)
        for line, mine in by_line.items():
            # Bytes in question first: a row shows only so many.
            mine.sort(key=lambda part: not self._touches(part))
            parts = []
            for part in mine[:_SHOWN_LANES]:
                value = f"={part.value:#x}" if values is not None else ""
                parts.append(f"+{part.address - line:x}{value}")
            if len(mine) > _SHOWN_LANES:
                parts.append(f"and {len(mine) - _SHOWN_LANES} more")
            lanes = sorted({part.lane for part in mine})
            who = f"agent {request.agent} lane{'s' if len(lanes) > 1 else ''} {lane_list(lanes)}"
            what = f"{request.what}/{request.size} {' '.join(parts)}"
            touched = any(self._touches(part) for part in mine)
            self._rows.append(Row(tick, who, what, change, touched=touched, line=line))

    def _touches(self, part: _Part) -> bool:
        """Whether it overlaps the bytes in question."""
        first = part.address
        return first < self.bytes.stop and self.bytes.start < first + part.size


class _Part(NamedTuple):
    """One lane of a request, or one piece of an access that the program writes as several rows."""

    lane: int
    address: int
    size: int
    value: int


def _parts(
    request: Request, indices: Iterable[int], values: Sequence[int] | None
) -> Iterator[_Part]:
    for index in indices:
        address = request.addresses[index]
        value = 0 if values is None else values[index]
        for size in request.pieces or (request.size,):
            yield _Part(request.lanes[index], address, size, value & (1 << 8 * size) - 1)
            address, value = address + size, value >> 8 * size


def lane_list(lanes: list[int]) -> str:
    """``0-3,7`` for [0, 1, 2, 3, 7]."""
    parts: list[tuple[int, int]] = []
    for lane in sorted(lanes):
        if parts and parts[-1][1] == lane - 1:
            parts[-1] = (parts[-1][0], lane)
        else:
            parts.append((lane, lane))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
