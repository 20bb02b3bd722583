"""One agent of a program at its port: what it issues next, and what it waits for.

Invariant: whether an instruction may be issued depends on the program and on which answers
arrived in earlier ticks, never on their values; so one program on one system is one run.

The rules, for whoever builds another engine:

* A thread issues at most one instruction per tick, at the earliest in the tick after the answer
  (or the retry) that made it possible.
* Actions are issued in order and without waiting for each other, but an action waits while an
  earlier request of the wave to one of its bytes is outstanding (stores: until accepted).
* The acquire follows the last opening fetch-add's answer, the first action the acquire's. The
  release follows the last action, whatever is outstanding then; the closing fetch-adds follow
  the release, every load's data and every store's completion. With their answers the episode
  is complete, and whoever waited for that may start in the next tick.
* Where the system description asks for more at a hand-over, or the episode itself for a flush,
  the lines that the episode wrote are flushed between release and closing fetch-adds, and those
  that it will load are dropped from the shared cache between acquire and first action.
* A plain episode has neither acquire nor release: its first action is issued as soon as what it
  waits for is complete, and when all of its actions are answered it is complete itself.
* A peeking episode that waits for another one issues its first load, as a request of its own
  whose data does not matter, in the tick in which the other one issues its last access, once. It
  waits for the answer after its acquire; if it is refused there is no peek.
* A refused instruction is issued again in the tick after its retry, before anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from runtime.requesters.port import Access, Requester
from runtime.sim.engine import Consumer
from runtime.types.values import DataBlock
from tester.execution.episode_stream import Episode
from tester.execution.events import Kind, Request, Role
from tester.program.atomics import comparands
from tester.program.program import (
    ATOMIC,
    FAILS,
    FLUSHES,
    GLC,
    INSTRUCTION,
    LOAD,
    PEEK,
    PLAIN,
    QUIET,
    SLC,
    STORE,
)

if TYPE_CHECKING:
    from tester.execution.driver import Driver

_IDLE: Final = 0
_HANDOVER: Final = 1
_OPEN: Final = 2
_ACQUIRE: Final = 3
_INVALIDATE: Final = 4
_ACTIONS: Final = 5
_RELEASE: Final = 6
_FLUSH: Final = 7
_CLOSE: Final = 8
_ENDED: Final = 9
_PHASES: Final = (
    "between episodes",
    "waiting for a hand-over",
    "opening fetch-adds",
    "acquiring",
    "dropping lines of the shared cache",
    "loads and stores",
    "releasing",
    "flushing",
    "closing fetch-adds",
    "all episodes done",
)


@dataclass(frozen=True, slots=True)
class Steps:
    """What an agent must do at hand-overs besides acquire and release."""

    flush: bool = False
    invalidate: bool = False
    blind: bool = False
    """What its loads and fetch-adds return means nothing."""

    @property
    def any(self) -> bool:
        return self.flush or self.invalidate


class Flight(Access):
    """An instruction on its way, with the answers it still lacks."""

    __slots__ = ("announced", "pending", "request", "shared", "uncompleted")

    def __init__(self, client: Thread, request: Request, values: Sequence[int]) -> None:
        addresses = request.addresses
        super().__init__(request.kind, client, 0, addresses, request.size, values)
        self.request = request
        self.announced = False
        """Whether the watcher knows of the issue (not while it may still be refused)."""
        self.pending = (1 << len(addresses)) - 1
        """Bit i: no data, acceptance or old value for address i yet."""
        self.uncompleted = self.pending if request.kind == Kind.STORE else 0
        """Bit i: the store to address i is not globally performed yet."""
        self.shared = len(set(addresses)) < len(addresses)

    def set_scope(self, scope: int) -> None:
        """Bits as in a program: GLC, SLC, QUIET, INSTRUCTION."""
        self.request.scope = scope
        self.glc = bool(scope & GLC)
        self.slc = bool(scope & SLC)
        self.returns = not scope & QUIET
        self.instruction = bool(scope & INSTRUCTION)


class Thread(Consumer):
    """One agent: client of one requester, consumer of its own wake-ups."""

    def __init__(self, driver: Driver, number: int, requester: Requester) -> None:
        super().__init__(driver.engine)
        self.number = number
        self.requester = requester
        self.completed = 0
        """Episodes so far."""
        self.waits = 0
        """Hand-overs that the current episode still waits for."""
        self.episode: Episode | None = None
        self._driver = driver
        self._watcher = driver.watcher
        self._steps = driver.steps[number]
        self._lines: tuple[dict[int, None], dict[int, None]] = ({}, {})
        """Lines of the current episode's loads and stores; kept only if steps need them."""
        self._line_mask = -driver.line_size
        self._offset_mask = driver.line_size - 1
        self._phase = _IDLE
        self._since = 0
        self._flights = 0
        """Instructions issued and not fully answered."""
        self._held: Flight | None = None
        """Refused, to be issued again."""
        self._retry = False
        self._blocked = False
        """The next action waits for bytes of earlier ones."""
        self._footprint: dict[int, int] = {}
        """Line -> bytes of the next action, once somebody looked at it."""
        self._unsure: list[tuple[int, int]] = []
        """The part of the footprint that is not yet known to be free. What is free stays so:
        nothing overtakes the next action."""
        self._busy: dict[int, int] = {}
        """Line -> bytes with an outstanding load, atomic or unaccepted store of this wave."""

    def __str__(self) -> str:
        return f"thread {self.number}"

    @property
    def ended(self) -> bool:
        return self._phase == _ENDED

    @property
    def phase(self) -> str:
        """What the thread is doing, in words."""
        if self._held is not None:
            return f"{_PHASES[self._phase]}, refused by {self.requester.name}"
        return _PHASES[self._phase]

    @property
    def refused(self) -> Request | None:
        """The instruction that the requester did not take and has not asked for again."""
        return None if self._held is None or self._retry else self._held.request

    def waiting_for(self) -> list[tuple[int, int]]:
        """(thread, n) of the hand-overs that the thread is still waiting for."""
        if self._phase != _HANDOVER or self.episode is None:
            return []
        threads = self._driver.threads
        return [(t, n) for t, n in self.episode.waits if threads[t].completed < n]

    # ------------------------------------------------------------------ issue

    def wakeup(self) -> None:
        """Issue the next instruction, if there is one that need not wait."""
        phase = self._phase
        if self._held is not None:
            if self._retry:
                self._retry = False
                self._issue(self._held)
        elif phase == _ACTIONS:
            self._next_action()
        elif phase == _HANDOVER:
            if not self.waits:
                self._driver.statistics.handover_time += self.engine.now - self._since
                self._open()
        elif phase == _IDLE:
            self._begin_episode()
        elif not self._flights and phase != _ENDED:
            self._next_phase()

    def _next_phase(self) -> None:
        """Everything issued so far has been answered, and that was what the phase waited for."""
        phase = self._phase
        if phase == _OPEN:
            self._phase = _ACQUIRE
            self._fence(Role.ACQUIRE, Kind.ACQUIRE)
        elif phase == _ACQUIRE:
            self._phase = _INVALIDATE
            self._hand_over(self._steps.invalidate, LOAD, Role.INVALIDATE, Kind.INVALIDATE_L2)
        elif phase == _INVALIDATE:
            self._phase = _ACTIONS
            self._next_action()
        elif phase == _RELEASE:
            self._phase = _FLUSH
            episode = self.episode
            assert episode is not None
            flushes = self._steps.flush or bool(episode.scope & FLUSHES)
            self._hand_over(flushes, STORE, Role.FLUSH, Kind.FLUSH)
        elif phase == _FLUSH:
            self._phase = _CLOSE
            self._fetch_add(Role.CLOSE)
        else:
            self._end_episode()

    def _begin_episode(self) -> None:
        driver = self._driver
        self.episode = episode = driver.script.next_episode(self.number)
        self._since = self.engine.now
        if episode is None:
            self._phase = _ENDED
            driver.thread_ended(self)
            return
        if self._steps.any or episode.scope & FLUSHES:
            self._lines = ({}, {})
            for action in episode.actions:
                touched = dict.fromkeys(action.lines(-self._line_mask))
                for kind in (LOAD, STORE) if action.kind == ATOMIC else (action.kind,):
                    self._lines[kind].update(touched)
        self._phase = _HANDOVER
        self.waits = driver.await_episodes(self, episode.waits)
        if not self.waits:
            self._open()

    def _open(self) -> None:
        self._phase = _OPEN
        self._driver.statistics.change(1, self.engine.now)
        self._fetch_add(Role.OPEN)

    def _end_episode(self) -> None:
        self.completed += 1
        self._phase = _IDLE
        self._driver.episode_completed(self)
        self._begin_episode()

    def _hand_over(self, wanted: bool, of_kind: int, role: int, kind: int) -> None:
        """A step on the lines that the episode's loads (stores) touch, or straight on."""
        lines = self._lines[of_kind] if wanted else None
        if lines:
            self._issue(self._flight(role, kind, list(range(len(lines))), list(lines)))
        else:
            self._next_phase()

    def _fence(self, role: int, kind: int) -> None:
        """An acquire or release; a plain episode just waits for what is on its way."""
        episode = self.episode
        assert episode is not None
        if not episode.scope & PLAIN:
            self._issue(self._flight(role, kind, [], []))
        elif role == Role.ACQUIRE:
            if not self._flights:  # else there was a peek
                self._next_phase()
        elif not self._flights:
            self.engine.schedule(self, self.engine.now + 1)

    def _fetch_add(self, role: int) -> None:
        episode = self.episode
        assert episode is not None
        if not episode.lanes:
            self._next_phase()
            return
        flight = self._flight(role, Kind.ATOMIC, episode.lanes, episode.words)
        flight.set_scope(episode.scope if role == Role.CLOSE else episode.scope & ~QUIET)
        self._issue(flight)

    def _flight(self, role: int, kind: int, lanes: list[int], addresses: list[int]) -> Flight:
        """A synchronisation, or fetch-adds of 1."""
        episode = self.episode
        assert episode is not None
        operands = [1] * len(addresses) if kind == Kind.ATOMIC else []
        request = Request(
            self._driver.next_identity(),
            self.number,
            episode.number,
            role,
            kind,
            lanes,
            addresses,
            4,
            operands,
            [],
        )
        return Flight(self, request, operands)

    def _next_action(self) -> None:
        episode = self.episode
        assert episode is not None
        if not episode.actions:
            self._phase = _RELEASE
            self._fence(Role.RELEASE, Kind.RELEASE)
            return
        action = episode.actions[0]
        if not self._blocked:
            self._footprint = self._bytes_of(action)
            self._unsure = list(self._footprint.items())
        busy = self._busy
        unsure = self._unsure
        while unsure:
            line, bits = unsure[-1]
            if line in busy and busy[line] & bits:
                self._blocked = True  # the answer that frees the byte wakes this thread
                return
            unsure.pop()
        self._blocked = False
        for line, bits in self._footprint.items():
            busy[line] = busy.get(line, 0) | bits
        episode.actions.popleft()
        action.identity = self._driver.next_identity()
        flight = Flight(self, action, () if action.kind == LOAD else action.values)
        if action.kind == Kind.ATOMIC:
            flight.op = action.op & ~FAILS
            flight.compares = comparands(action.op, action.size, action.expected)
        if action.scope:
            flight.set_scope(action.scope)
        self._issue(flight)
        if not episode.actions:
            self._driver.last_access(self)

    def _bytes_of(self, action: Request) -> dict[int, int]:
        """Line -> bytes of it that the action touches."""
        line_mask = self._line_mask
        offset_mask = self._offset_mask
        pattern = (1 << action.size) - 1
        footprint: dict[int, int] = {}
        for address in action.addresses:
            line = address & line_mask
            bits = pattern << (address & offset_mask)
            footprint[line] = footprint[line] | bits if line in footprint else bits
        return self._over_lines(action) if action.pieces else footprint

    def _over_lines(self, action: Request) -> dict[int, int]:
        """The same for an access of pieces, which may reach over several lines."""
        bits = (1 << action.size) - 1 << (action.addresses[0] & self._offset_mask)
        line_size = -self._line_mask
        ones = (1 << line_size) - 1
        lines = enumerate(action.lines(line_size))
        return {line: bits >> number * line_size & ones for number, line in lines}

    def peek(self) -> None:
        """Load the line that the awaited access will move, if the episode does such things."""
        episode = self.episode
        if self._phase != _HANDOVER or self._flights or self._held is not None:
            return
        assert episode is not None
        if not episode.scope & PEEK:
            return
        wanted = next((a for a in episode.actions if a.kind == LOAD), None)
        if wanted is None:
            return
        flight = self._flight(Role.PEEK, Kind.LOAD, wanted.lanes, wanted.addresses)
        flight.request.size = flight.size = wanted.size
        flight.request.pieces = wanted.pieces
        self._issue(flight)
        self._held = None

    def _issue(self, flight: Flight) -> None:
        flight.request.issued = now = self.engine.now
        self._held = None
        self._flights += 1
        # In the books first: the requester may answer from within its own method.
        if not self.requester.issue(flight):
            self._flights -= 1
            self._held = flight
            return
        if not flight.announced:
            flight.announced = True
            self._watcher.issued(flight.request, now)
        if self._phase == _ACTIONS:
            self.engine.schedule(self, now + 1)

    # ------------------------------------------------------------------ answers

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        assert isinstance(access, Flight)
        if not access.announced:
            self._announce(access)
        self._watcher.loaded(access.request, lanes, line, data.data, self.engine.now)
        self._free_bytes(access, lanes)
        if not access.pending:
            self._flights -= 1
        if self._blocked or not self._flights:
            self.engine.schedule(self, self.engine.now + 1)

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, Flight)
        if not access.announced:
            self._announce(access)
        self._watcher.accepted(access.request, lanes, line, self.engine.now)
        self._free_bytes(access, lanes)
        if self._blocked:
            self.engine.schedule(self, self.engine.now + 1)

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, Flight)
        self._watcher.completed(access.request, lanes, line, self.engine.now)
        done = 0
        for index in lanes:
            done |= 1 << index
        access.uncompleted &= ~done
        if not access.uncompleted:
            self._answered()

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        assert isinstance(access, Flight)
        if not access.announced:
            self._announce(access)
        self._watcher.returned(access.request, lanes, old_values, self.engine.now)
        if access.request.role == Role.ACTION:
            self._free_bytes(access, lanes)
        for index in lanes:
            access.pending &= ~(1 << index)
        if not access.pending:
            self._answered()
        if self._blocked:
            self.engine.schedule(self, self.engine.now + 1)

    def synchronized(self, access: Access) -> None:
        assert isinstance(access, Flight)
        if not access.announced:
            self._announce(access)
        self._watcher.synchronized(access.request, self.engine.now)
        self._answered()

    def retry(self, requester: Requester) -> None:
        if self._held is not None:
            self._retry = True
            self.engine.schedule(self, self.engine.now + 1)

    def _announce(self, flight: Flight) -> None:
        """The requester answers from within its own ``issue``: tell of the issue first."""
        flight.announced = True
        self._watcher.issued(flight.request, flight.request.issued)

    def _answered(self) -> None:
        """An instruction has all of its answers; the last one lets the thread go on."""
        self._flights -= 1
        if not self._flights:
            self.engine.schedule(self, self.engine.now + 1)

    def _free_bytes(self, flight: Flight, indices: list[int]) -> None:
        """These lanes of one line are answered: others of the wave may use their bytes."""
        if flight.request.pieces:
            flight.pending = 0
            for line, bits in self._over_lines(flight.request).items():
                self._free(line, bits)
            return
        addresses = flight.addresses
        pattern = (1 << flight.size) - 1
        offset_mask = self._offset_mask
        line = addresses[indices[0]] & self._line_mask
        bits = 0
        answered = 0
        for index in indices:
            bits |= pattern << (addresses[index] & offset_mask)
            answered |= 1 << index
        flight.pending = pending = flight.pending & ~answered
        if pending and flight.shared:
            # Lanes asked for the same bytes and not all of them are answered.
            for index, address in enumerate(addresses):
                if pending >> index & 1 and address & self._line_mask == line:
                    bits &= ~(pattern << (address & offset_mask))
        self._free(line, bits)

    def _free(self, line: int, bits: int) -> None:
        busy = self._busy
        left = busy.get(line, 0) & ~bits
        if left:
            busy[line] = left
        else:
            busy.pop(line, None)
