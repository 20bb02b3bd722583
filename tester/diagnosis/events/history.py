"""Records a run: every request with its ticks, and the events of the lines of interest.

Switched on only when a failing leg is run again (same leg, same run), so that remembering costs
nothing while nothing is wrong. Invariant: events stand in the order in which things happened, an
answer behind the transition that gave it; nothing is sorted afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from runtime.controller.source_location import transition_location
from runtime.requesters.port import AccessKind
from runtime.types.message import Message
from tester.diagnosis.events.bytes_in_question import NO_BYTES, BytesInQuestion, Copies
from tester.diagnosis.events.line_events import AtPort, Event, Held, Sent, Stall, Transition
from tester.diagnosis.events.message_tap import MEMORY, MessageTap, Received
from tester.diagnosis.events.record_fields import block_text, held_by
from tester.diagnosis.events.system_inspection import controller_name, record_of
from tester.execution.events import Request, Role
from tester.limits import HISTORY_ROWS

_SHOWN_LANES: Final = 3
ISSUED: Final = "issued"
"""The first step of an access."""
FINISHED: Final = "finished"
"""The last step of a synchronisation."""
WRONG: Final = "WRONG DATA"
"""The step of a load that a report is about."""
_Place = tuple[str, int]
"""A controller's name and a line."""


class HeldBack(NamedTuple):
    """A transition that an in-port triggered and that was held back, before its body went on."""

    tick: int
    port: Any
    state: int
    event: int


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

    ``lines`` are the lines whose events are kept; None keeps those of all lines (the last ones: for
    failures that have no address); ``failed`` are the bytes in question. ``whole``: keep what
    pictures need, too, which is every access, what is held of a line, what is held back, and all
    fields of messages. ``rows``: how many of the last events are kept.
    """

    def __init__(
        self,
        lines: Iterable[int] | None,
        line_size: int,
        failed: BytesInQuestion = NO_BYTES,
        whole: bool = False,
        rows: int = HISTORY_ROWS,
    ) -> None:
        self.lines = None if lines is None else set(lines)
        self.records: dict[int, Record] = {}
        self.transitions = 0
        self.bytes = failed
        self._whole = whole
        self._system: Any = None
        self._tap: MessageTap | None = None
        self._copies = Copies(failed, line_size) if failed.followed else None
        self._last_copies: list[Transition] = []
        self._line_mask = -line_size
        self._events: deque[Event] = deque(maxlen=rows)
        self._count = 0
        self._sent: list[Sent] = []
        """Messages of which there is no event yet: those of a transition come after its own."""
        self._answers: list[AtPort] = []
        """Answers of which there is no event yet, for the same reason."""
        self._last: dict[_Place, Transition] = {}
        self._stalls: dict[_Place, Stall] = {}
        """What holds back a line's message there since its last transition."""
        self._held_back: dict[str, HeldBack] = {}
        """The last transition of a controller that was held back, if none was made since."""
        self._decisive: dict[_Place, dict[str, int]] = {}
        """The last transitions there that exchanged messages, changed the state, or the bytes."""
        self._open: set[_Place] = set()
        """Where there is a transaction."""
        self._to_memory: dict[_Place, int] = {}
        self._issued: dict[tuple[int, int], int] = {}
        """Issues of requests, by ``id`` of the request and line."""

    @property
    def events(self) -> Sequence[Event]:
        """What happened so far, the sends of a transition that failed included."""
        self._add_sends()
        self._add_answers()
        return self._events

    # ------------------------------------------------------------------ controllers

    def watch(self, system: Any) -> None:
        """Note messages and copies as well."""
        self._system = system
        self._tap = MessageTap(
            system, self._concerns, self._line_of, self._data_of, self._sent, self._whole
        )
        for controller in system.controllers:
            controller.stall_observer = self.stalled

    def failed_on(self, controller: Any) -> list[Received]:
        """The messages that a controller was working on when it failed."""
        return [] if self._tap is None else self._tap.failed_on(controller)

    def held_back_before(self, controller: Any) -> HeldBack | None:
        """What the in-port in which a controller failed had triggered before, in vain, in the same
        look at its message."""
        held = self._held_back.get(controller_name(controller))
        if held is None or held.port is not controller.current:
            return None
        return held if held.tick == controller.engine.now else None

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
        line, who = address & self._line_mask, controller_name(controller)
        self._held_back.pop(who, None)
        if not self._follows(line):
            return
        states = controller.STATES
        new = Transition(
            tick=controller.engine.now,
            who=who,
            line=line,
            event=controller.EVENTS.name_of(event),
            state=states.name_of(state),
            next_state=states.name_of(next_state),
            comment=comment,
            location=transition_location(type(controller), state, event),
        )
        self._catch_up(new.tick, who)
        self._stalls.pop((who, line), None)
        if self._whole:
            new.held = held_by(controller, line)
        taken = self._note_messages(new, controller)
        self._note_transaction(new, controller)
        if not self._repeats(new, taken):
            self._add_transition(new, taken)
        self._add_sends()
        self._add_answers(new)

    def stalled(self, controller: Any, address: int, state: int, event: int) -> None:
        """Called by a controller for each look at a transition that is held back."""
        line, who = address & self._line_mask, controller_name(controller)
        tick = controller.engine.now
        self._held_back[who] = HeldBack(tick, controller.current, state, event)
        if not self._whole:
            return
        name, event_name = controller.STATES.name_of(state), controller.EVENTS.name_of(event)
        known = self._stalls.get((who, line))
        if known is not None and (known.state, known.event) == (name, event_name):
            known.times += 1
            known.until = tick
            return
        self._catch_up(tick, who)
        where = transition_location(type(controller), state, event)
        new = Stall(tick=tick, who=who, line=line, event=event_name, state=name, location=where)
        self._stalls[who, line] = new
        self._append(new)

    def _catch_up(self, tick: int, who: str) -> None:
        """Events of what came before something that a controller does now: answers that no
        transition gave, and what others have sent."""
        earlier = [answer for answer in self._answers if answer.tick < tick]
        if earlier:
            self._add_sends(lambda send: send.tick <= earlier[-1].tick)
            for answer in earlier:
                self._append(answer)
            self._answers[:] = self._answers[len(earlier) :]
        self._add_sends(lambda send: send.who != who)

    def _note_messages(self, new: Transition, controller: Any) -> list[Received]:
        """What the transition took and set aside, and what became of the bytes in question."""
        if self._tap is None:
            return []
        taken, waiting = self._tap.consumed_by(controller)
        new.messages = [str(each) for each in taken]
        new.taken = [number for each in taken if (number := self._event_of(each, new.line)) >= 0]
        if waiting is not None:
            new.waiting = str(waiting)
            new.set_aside = self._event_of(waiting, new.line)
        if self._copies is not None:
            messages = [each.message for each in taken]
            new.data, new.touched = self._copies.after(controller, messages)
            new.last_copy = self._copies.last_copy_went(self._system, messages)
            self._note_last_copy(new, self._copies.exist)
        return taken

    def _note_last_copy(self, new: Transition, exist: bool) -> None:
        """Copies that are there again were not gone: a processor takes its store from the queue
        of its requests, and writes the bytes when the line has come."""
        if exist:
            for each in self._last_copies:
                each.last_copy = False
            self._last_copies.clear()
        if new.last_copy:
            self._last_copies.append(new)

    def _note_transaction(self, new: Transition, controller: Any) -> None:
        place = new.who, new.line
        is_open = record_of(controller, new.line) is not None
        new.opened = is_open and place not in self._open
        (self._open.add if is_open else self._open.discard)(place)

    def _repeats(self, new: Transition, taken: list[Received]) -> bool:
        """Count a transition that did the same as the last one there, which was nothing."""
        place = new.who, new.line
        last = self._last.get(place)
        idle = not (new.changes_state or new.opened or taken or self._sent or new.data)
        if last is None or not idle or last.number in self._decisive[place].values():
            return False
        if (last.event, last.state, last.comment) != (new.event, new.state, new.comment):
            return False
        if new.waiting not in ("", last.waiting):
            return False
        last.times += 1
        last.until = new.tick
        return True

    def _add_transition(self, new: Transition, taken: list[Received]) -> None:
        place = new.who, new.line
        new.causes = list(new.taken)
        new.exchanged = bool(self._sent) or any(each.sent is not None for each in taken)
        decisive = self._decisive.setdefault(place, {})
        before = [self._last[place].number] if place in self._last else []
        new.causes += dict.fromkeys([*decisive.values(), *before])
        self._append(new)
        self._last[place] = new
        for kind, is_one in (
            ("messages", new.exchanged),
            ("state", new.changes_state),
            ("bytes", new.data),
        ):
            if is_one:
                decisive[kind] = new.number

    # ------------------------------------------------------------------ messages

    def _follows(self, line: int) -> bool:
        return self.lines is None or line in self.lines

    def _event_of(self, received: Received, line: int) -> int:
        """The number of the event of a message: that it was sent, or issued about the line."""
        if received.sent is not None:
            return received.sent.number
        line = self._line_of(received.message) if self._whole else line
        return self._issued.get((id(received.request), line), -1)

    def _concerns(self, message: Message) -> bool:
        return self._follows(self._line_of(message))

    def _line_of(self, message: Message) -> int:
        return message.line_address() & self._line_mask

    def _data_of(self, message: Message) -> tuple[str, bool]:
        return ("", False) if self._copies is None else self._copies.in_message(message)

    def _add_sends(self, wanted: Callable[[Sent], bool] = lambda send: True) -> None:
        """Events of the sends that are wanted; the others wait."""
        waiting = [each for each in self._sent if not wanted(each)]
        for each in self._sent:
            if wanted(each):
                self._add_send(each)
        self._sent[:] = waiting

    def _add_send(self, sent: Sent) -> None:
        if sent.who == MEMORY:
            asked = self._to_memory.get((sent.receivers[0], sent.line))
            sent.causes = [] if asked is None else [asked]
            if self._whole:
                sent.held = Held((("memory", block_text(self._in_memory(sent.line))),))
        else:
            last = self._last.get((sent.who, sent.line))
            sent.causes = [] if last is None else [last.number]
        self._append(sent)
        if sent.receivers == [MEMORY]:
            self._to_memory[sent.who, sent.line] = sent.number

    def _in_memory(self, line: int) -> bytes:
        data: int = self._system.memory.read_line(line)
        return data.to_bytes(-self._line_mask, "little")

    def _append(self, event: Event) -> None:
        event.number = self._count
        self._count += 1
        self._events.append(event)

    # ------------------------------------------------------------------ ports

    def issued(self, request: Request, tick: int) -> None:
        self.records[request.identity] = Record(request)
        values = request.values if request.kind == AccessKind.STORE else None
        self._port(tick, request, range(len(request.addresses)), values, ISSUED)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        record = self.records[request.identity]
        mask = (1 << 8 * request.size) - 1
        right = True
        for index in indices:
            value = data >> 8 * max(0, request.addresses[index] - line) & mask
            record.answered[index] = tick
            record.values[index] = value
            right = right and (not request.expected or value == request.expected[index])
        self._port(tick, request, indices, record.values, "data" if right else WRONG)

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
        self._synchronization(tick, request, FINISHED)

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

    # ------------------------------------------------------------------ events at ports

    def _add_answers(self, giver: Transition | None = None) -> None:
        """Events of the answers that wait; the line's were given by the transition just noted."""
        for each in self._answers:
            mine = giver is not None and (each.tick, each.line) == (giver.tick, giver.line)
            if giver is not None and mine:
                each.causes.append(giver.number)
            self._append(each)
        self._answers.clear()

    def _port(
        self,
        tick: int,
        request: Request,
        indices: Sequence[int],
        values: list[int] | None,
        step: str,
    ) -> None:
        """One event per line of interest: ``load/4 +2c=0x63 (lane 7)``, offsets in hexadecimal."""
        if not request.addresses:
            self._synchronization(tick, request, step)
        if self.lines is None and not self._whole:
            return
        self._add_sends(lambda send: send.tick < tick)
        by_line: dict[int, list[_Part]] = {}
        for part in _parts(request, indices, values):
            line = part.address & self._line_mask
            if self._follows(line):
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
            event = AtPort(
                tick=tick,
                who=f"agent {request.agent} lane{'s' if len(lanes) > 1 else ''} {lane_list(lanes)}",
                line=line,
                touched=any(self._touches(part) for part in mine),
                request=request,
                access=f"{request.what}/{request.size} {' '.join(parts)}",
                step=step,
            )
            if step == ISSUED:
                self._add_issue(event, request)
            else:
                self._answers.append(event)

    def _synchronization(self, tick: int, request: Request, step: str) -> None:
        """An event of what is about no line, or is answered for all of its lines at once."""
        if not self._whole:
            return
        event = AtPort(
            tick=tick,
            who=f"agent {request.agent}",
            request=request,
            access=request.what,
            step=step,
        )
        if step == ISSUED:
            self._add_issue(event, request)
        else:
            self._answers.append(event)

    def _add_issue(self, event: AtPort, request: Request) -> None:
        self._add_answers()
        self._append(event)
        self._issued[id(request), event.line] = event.number

    def _touches(self, part: _Part) -> bool:
        """Whether it overlaps the bytes in question."""
        first, failed = part.address, self.bytes.range
        return first < failed.stop and failed.start < first + part.size


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
