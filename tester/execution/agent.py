"""One agent of a program at its port: what it issues next, and what it waits for.

An agent issues the instructions of one instruction stream: a wavefront, an agent of a processor, a
DMA engine or a cache that is read through.

Invariant: whether an instruction may be issued depends on the program and on which answers
arrived in earlier ticks, never on their values; so one program on one system is one run.

The rules, for the authors of other engines:

* An agent issues at most one instruction per tick, at the earliest in the tick after the answer
  (or the retry) that made it possible.
* Actions are issued in order and without waiting for each other, but an action waits while an
  earlier request of the wave to one of its bytes is outstanding (stores: until accepted).
* The acquire follows the last opening fetch-add's answer, the first action the acquire's. The
  release follows the last action, whatever is outstanding then; the closing fetch-adds follow
  the release, every load's data and every store's completion. With their answers the episode
  is complete, and the agents that waited for it may start in the next tick.
* Where the system description asks for more at a hand-over, or the episode itself for a flush,
  the lines that the episode wrote are flushed between release and closing fetch-adds, and those
  that it will load are dropped from the shared cache between acquire and first action.
* A plain episode has neither acquire nor release: its first action is issued as soon as what it
  waits for is complete, and when all of its actions are answered it is complete itself.
* An episode with a racing load that waits for another episode issues its first load, as a request
  of its own, in the tick in which the other one issues its last access, once. It waits for the
  answer after its acquire; if the requester refuses it, it is not repeated. What it may return is
  in :mod:`tester.execution.early_loads`.
* Where the requester marks fences, the first action of an episode (unless it is plain) is answered
  before the second one is issued, and the last one follows the answers of all others.
* A load that is kept in order waits for the answer of the last load of its episode that is so.
* A refused instruction is issued again in the tick after its retry, before anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from runtime.requesters.port import Access, AccessKind, Requester, Scope
from runtime.requesters.sequencer import Sequencer
from runtime.sim.engine import Consumer, Engine
from runtime.types.values import DataBlock
from slicc.text.lazy_dataclass import dataclass
from tester.execution.early_loads import EarlyRule
from tester.execution.episode_stream import Episode
from tester.execution.events import Request, RequestObserver, Role
from tester.program.atomics import comparands
from tester.program.program import (
    ATOMIC,
    BYPASSING_LOAD,
    FAILS,
    FLUSHES,
    GLC,
    IN_ORDER,
    INSTRUCTION,
    LOAD,
    PLAIN,
    QUIET,
    RACING_LOAD,
    SLC,
    STORE,
)

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


_WAITS: Final = 1
"""In how an action is marked, beside `Scope.ACQUIRES` and `Scope.RELEASES`, which alone reach the
requester: it waits for the answers of all others."""


def fences_of(requester: Requester) -> int:
    """Which fences a requester marks."""
    if not isinstance(requester, Sequencer):
        return 0
    acquires = Scope.ACQUIRES if requester.acquire_flags else 0
    return acquires | (Scope.RELEASES if requester.release_flags else 0)


@dataclass(frozen=True, slots=True)
class HandoverSteps:
    """What an agent must do at hand-overs besides acquire and release."""

    flush: bool = False
    invalidate: bool = False
    blind: bool = False
    """The values that its loads and fetch-adds return are not checked."""
    early: EarlyRule = EarlyRule.NEVER
    """Which of its racing loads are judged, if it need not drop lines of the shared cache."""

    @property
    def judged(self) -> EarlyRule:
        return EarlyRule.NEVER if self.invalidate or self.blind else self.early

    @property
    def any(self) -> bool:
        return self.flush or self.invalidate

    @property
    def bits(self) -> int:
        """As compiled agents read them."""
        return self.flush | self.invalidate << 1 | self.blind << 2 | self.judged << 3


class AgentDriver(Protocol):
    """What an agent asks of its driver: what all agents share."""

    @property
    def engine(self) -> Engine: ...

    @property
    def observer(self) -> RequestObserver: ...

    @property
    def line_size(self) -> int: ...

    def steps_of(self, number: int) -> HandoverSteps:
        """What agent ``number`` does at hand-overs besides acquire and release."""

    def next_identity(self) -> int:
        """An identity for a request that is about to be issued."""

    def next_episode(self, number: int) -> Episode | None:
        """The next episode of agent ``number``; None after the last one."""

    def episodes_completed(self, number: int) -> int:
        """How many episodes of agent ``number`` are complete."""

    def await_episodes(self, agent: Agent, waits: list[tuple[int, int]]) -> int:
        """Register that ``agent`` waits for (other agent, count of complete episodes).

        Returns how many of them are still incomplete; the agent's ``waits`` is counted down, and
        it is woken when it reaches zero.
        """

    def episode_started(self, waited: int) -> None:
        """An agent starts an episode after waiting ``waited`` ticks for hand-overs."""

    def last_access(self, agent: Agent) -> None:
        """``agent`` issues the last access of its episode: agents that wait for the episode may
        make racing loads."""

    def episode_completed(self, agent: Agent) -> None: ...

    def agent_ended(self) -> None:
        """An agent has completed its last episode."""


class PendingAccess(Access):
    """An issued instruction, with the answers it still lacks."""

    __slots__ = ("announced", "pending", "request", "shared", "uncompleted")

    def __init__(self, client: Agent, request: Request, values: Sequence[int]) -> None:
        addresses = request.addresses
        super().__init__(request.kind, client, 0, addresses, request.size, values)
        self.request = request
        self.announced = False
        """Whether the observer was notified of the issue (not while it may still be refused)."""
        self.pending = (1 << len(addresses)) - 1
        """Bit i: no data, acceptance or old value for address i yet."""
        self.uncompleted = self.pending if request.kind == AccessKind.STORE else 0
        """Bit i: the store to address i is not globally performed yet."""
        self.shared = len(set(addresses)) < len(addresses)

    def set_scope(self, scope: int) -> None:
        """Bits as in a program: GLC, SLC, QUIET, INSTRUCTION."""
        self.request.scope = scope
        self.glc = bool(scope & GLC)
        self.slc = bool(scope & SLC)
        self.returns = not scope & QUIET
        self.instruction = bool(scope & INSTRUCTION)


class Agent(Consumer):
    """One agent: client of one requester, consumer of its own wake-ups."""

    def __init__(self, driver: AgentDriver, number: int, requester: Requester) -> None:
        super().__init__(driver.engine)
        self.number = number
        self.requester = requester
        self.completed = 0
        """Episodes so far."""
        self.waits = 0
        """Hand-overs that the current episode still waits for."""
        self.episode: Episode | None = None
        self._driver = driver
        self._observer = driver.observer
        self._steps = driver.steps_of(number)
        self._lines: tuple[dict[int, None], dict[int, None]] = ({}, {})
        """Lines of the current episode's loads and stores; kept only if steps need them."""
        self._line_mask = -driver.line_size
        self._offset_mask = driver.line_size - 1
        self._phase = _IDLE
        self._since = 0
        self._outstanding = 0
        """Instructions issued and not fully answered."""
        self._held: PendingAccess | None = None
        """Refused, to be issued again."""
        self._retry = False
        self._blocked = False
        """The next action waits for bytes of earlier ones, or for a load."""
        self._footprint: dict[int, int] = {}
        """Line -> bytes of the next action, from the first attempt to issue it."""
        self._unsure: list[tuple[int, int]] = []
        """The part of the footprint that is not yet known to be free. Free bytes stay free:
        nothing overtakes the next action."""
        self._in_order: PendingAccess | None = None
        """The last load that is kept in order."""
        self._early: Request | None = None
        """The last racing load."""
        self._fences = fences_of(requester)
        self._length = 0
        """Actions of the episode."""
        if self._steps.early == EarlyRule.HELD and isinstance(requester, Sequencer):
            requester.watch_evictions(self.line_lost)
        self._busy: dict[int, int] = {}
        """Line -> bytes with an outstanding load, atomic or unaccepted store of this wave."""

    def __str__(self) -> str:
        return f"agent {self.number}"

    @property
    def ended(self) -> bool:
        return self._phase == _ENDED

    @property
    def phase(self) -> str:
        """What the agent is doing, as text."""
        phase = _PHASES[self._phase]
        if self._phase == _RELEASE and self.episode is not None and self.episode.scope & PLAIN:
            phase = "waiting for the last answers"  # a plain episode has no release
        return phase if self._held is None else f"{phase}, refused by {self.requester.name}"

    @property
    def refused(self) -> Request | None:
        """The instruction that the requester did not take and has not asked for again."""
        return None if self._held is None or self._retry else self._held.request

    def waiting_for(self) -> list[tuple[int, int]]:
        """(agent, n) of the hand-overs that the agent is still waiting for."""
        if self._phase != _HANDOVER or self.episode is None:
            return []
        completed = self._driver.episodes_completed
        return [(other, n) for other, n in self.episode.waits if completed(other) < n]

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
                self._open()
        elif phase == _IDLE:
            self._begin_episode()
        elif not self._outstanding and phase != _ENDED:
            self._next_phase()

    def _next_phase(self) -> None:
        """Everything issued so far has been answered, which the phase waited for."""
        phase = self._phase
        if phase == _OPEN:
            self._phase = _ACQUIRE
            self._fence(Role.ACQUIRE, AccessKind.ACQUIRE)
        elif phase == _ACQUIRE:
            self._phase = _INVALIDATE
            self._hand_over(self._steps.invalidate, LOAD, Role.INVALIDATE, AccessKind.INVALIDATE_L2)
        elif phase == _INVALIDATE:
            self._phase = _ACTIONS
            self._next_action()
        elif phase == _RELEASE:
            self._phase = _FLUSH
            episode = self.episode
            assert episode is not None
            flushes = self._steps.flush or bool(episode.scope & FLUSHES)
            self._hand_over(flushes, STORE, Role.FLUSH, AccessKind.FLUSH)
        elif phase == _FLUSH:
            self._phase = _CLOSE
            self._fetch_add(Role.CLOSE)
        else:
            self._end_episode()

    def _begin_episode(self) -> None:
        assert not self._outstanding and not self._busy
        driver = self._driver
        self.episode = episode = driver.next_episode(self.number)
        self._since = self.engine.now
        if episode is None:
            self._phase = _ENDED
            driver.agent_ended()
            return
        self._length = len(episode.actions)
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
        self._driver.episode_started(self.engine.now - self._since)
        self._fetch_add(Role.OPEN)

    def _end_episode(self) -> None:
        self.completed += 1
        self._phase = _IDLE
        self._driver.episode_completed(self)
        self._begin_episode()

    def _hand_over(self, wanted: bool, of_kind: int, role: int, kind: int) -> None:
        """A hand-over step on the lines that the episode's loads (stores) touch; the next phase if
        there are none."""
        lines = self._lines[of_kind] if wanted else None
        if lines:
            self._issue(self._pending_access(role, kind, list(range(len(lines))), list(lines)))
        else:
            self._next_phase()

    def _fence(self, role: int, kind: int) -> None:
        """An acquire or release; a plain episode only waits for its outstanding accesses."""
        episode = self.episode
        assert episode is not None
        if not episode.scope & PLAIN:
            self._issue(self._pending_access(role, kind, [], []))
        elif role == Role.ACQUIRE:
            if not self._outstanding:  # else there was a racing load
                self._next_phase()
        elif not self._outstanding:
            self.engine.schedule(self, self.engine.now + 1)

    def _fetch_add(self, role: int) -> None:
        episode = self.episode
        assert episode is not None
        if not episode.lanes:
            self._next_phase()
            return
        access = self._pending_access(role, AccessKind.ATOMIC, episode.lanes, episode.words)
        access.set_scope(episode.scope if role == Role.CLOSE else episode.scope & ~QUIET)
        self._issue(access)

    def _pending_access(
        self, role: int, kind: int, lanes: list[int], addresses: list[int]
    ) -> PendingAccess:
        """A synchronisation, or fetch-adds of 1."""
        episode = self.episode
        assert episode is not None
        operands = [1] * len(addresses) if kind == AccessKind.ATOMIC else []
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
        return PendingAccess(self, request, operands)

    def _next_action(self) -> None:
        episode = self.episode
        assert episode is not None
        if not episode.actions:
            self._phase = _RELEASE
            self._fence(Role.RELEASE, AccessKind.RELEASE)
            return
        fence = self._fences and self._fence_of(episode)
        if fence & _WAITS and self._outstanding:
            return  # the last answer wakes this agent
        action = episode.actions[0]
        if not self._blocked:
            self._footprint = self._bytes_of(action)
            self._unsure = list(self._footprint.items())
        busy = self._busy
        unsure = self._unsure
        while unsure:
            line, bits = unsure[-1]
            if line in busy and busy[line] & bits:
                self._blocked = True  # the answer that frees the byte wakes this agent
                return
            unsure.pop()
        in_order = action.scope & IN_ORDER
        if in_order and self._in_order is not None and self._in_order.pending:
            self._blocked = True
            return
        self._blocked = False
        for line, bits in self._footprint.items():
            busy[line] = busy.get(line, 0) | bits
        episode.actions.popleft()
        action.identity = self._driver.next_identity()
        access = PendingAccess(self, action, () if action.kind == LOAD else action.values)
        if action.kind == AccessKind.ATOMIC:
            access.op = action.op & ~FAILS
            access.compares = comparands(action.op, action.size, action.expected)
        if action.scope:
            access.set_scope(action.scope)
        access.fence = fence & ~_WAITS
        if in_order:
            self._in_order = access
        self._issue(access)
        if not episode.actions:
            self._driver.last_access(self)

    def _fence_of(self, episode: Episode) -> int:
        """How the next action is marked, and whether it waits for all others (_WAITS)."""
        if episode.scope & PLAIN:
            return 0
        left = len(episode.actions)
        first = Scope.ACQUIRES if left == self._length else 0
        last = Scope.RELEASES if left == 1 else 0
        behind = left == self._length - 1 and self._fences & Scope.ACQUIRES
        waits = _WAITS if behind or last & self._fences else 0
        return (first | last) & self._fences | waits

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
        """The bytes of an access of pieces, which may reach over several lines, as bits by line."""
        bits = (1 << action.size) - 1 << (action.addresses[0] & self._offset_mask)
        line_size = -self._line_mask
        ones = (1 << line_size) - 1
        lines = enumerate(action.lines(line_size))
        return {line: bits >> number * line_size & ones for number, line in lines}

    def racing_load(self) -> None:
        """Load the line that the awaited access will move, if the episode makes racing loads."""
        episode = self.episode
        if self._phase != _HANDOVER or self._outstanding or self._held is not None:
            return
        assert episode is not None
        if not episode.scope & RACING_LOAD:
            return
        wanted = next((a for a in episode.actions if a.kind == LOAD), None)
        if wanted is None:
            return
        access = self._pending_access(
            Role.RACING_LOAD, AccessKind.LOAD, wanted.lanes, wanted.addresses
        )
        access.request.size = access.size = wanted.size
        access.request.pieces = wanted.pieces
        access.request.row = episode.actions[0].row
        scope = wanted.scope & (GLC | SLC)
        access.set_scope(scope | (GLC if episode.scope & BYPASSING_LOAD else 0))
        self._early = access.request
        self._issue(access)
        self._held = None

    def line_lost(self, line: int) -> None:
        """The machine reports that a line has left its cache: a value of it is not kept."""
        early = self._early
        if early is not None and line in early.lines(-self._line_mask):
            early.lost = True

    def _issue(self, access: PendingAccess) -> None:
        access.request.issued = now = self.engine.now
        self._held = None
        self._outstanding += 1
        # Counted first: the requester may answer from within its own method.
        if not self.requester.issue(access):
            self._outstanding -= 1
            self._held = access
            return
        if not access.announced:
            access.announced = True
            self._observer.issued(access.request, now)
        if self._phase == _ACTIONS:
            self.engine.schedule(self, now + 1)

    # ------------------------------------------------------------------ answers

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        assert isinstance(access, PendingAccess)
        if not access.announced:
            self._announce(access)
        self._observer.loaded(access.request, lanes, line, data.data, self.engine.now)
        self._free_bytes(access, lanes)
        if not access.pending:
            self._outstanding -= 1
        if self._blocked or not self._outstanding:
            self.engine.schedule(self, self.engine.now + 1)

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, PendingAccess)
        if not access.announced:
            self._announce(access)
        self._observer.accepted(access.request, lanes, line, self.engine.now)
        self._free_bytes(access, lanes)
        if self._blocked:
            self.engine.schedule(self, self.engine.now + 1)

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, PendingAccess)
        self._observer.completed(access.request, lanes, line, self.engine.now)
        done = 0
        for index in lanes:
            done |= 1 << index
        access.uncompleted &= ~done
        if not access.uncompleted:
            self._answered()

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        assert isinstance(access, PendingAccess)
        if not access.announced:
            self._announce(access)
        self._observer.returned(access.request, lanes, old_values, self.engine.now)
        if access.request.role == Role.ACTION:
            self._free_bytes(access, lanes)
        for index in lanes:
            access.pending &= ~(1 << index)
        if not access.pending:
            self._answered()
        if self._blocked:
            self.engine.schedule(self, self.engine.now + 1)

    def synchronized(self, access: Access) -> None:
        assert isinstance(access, PendingAccess)
        if not access.announced:
            self._announce(access)
        self._observer.synchronized(access.request, self.engine.now)
        self._answered()

    def retry(self, requester: Requester) -> None:
        if self._held is not None:
            self._retry = True
            self.engine.schedule(self, self.engine.now + 1)

    def _announce(self, access: PendingAccess) -> None:
        """The requester answers from within its own ``issue``: report the issue first."""
        access.announced = True
        self._observer.issued(access.request, access.request.issued)

    def _answered(self) -> None:
        """An instruction has all of its answers; the last one wakes the agent."""
        self._outstanding -= 1
        if not self._outstanding:
            self.engine.schedule(self, self.engine.now + 1)

    def _free_bytes(self, access: PendingAccess, indices: list[int]) -> None:
        """Free the bytes of answered lanes of one line: others of the wave may use them."""
        if access.request.pieces:
            access.pending = 0
            for line, bits in self._over_lines(access.request).items():
                self._free(line, bits)
            return
        addresses = access.addresses
        pattern = (1 << access.size) - 1
        offset_mask = self._offset_mask
        line = addresses[indices[0]] & self._line_mask
        bits = 0
        answered = 0
        for index in indices:
            bits |= pattern << (addresses[index] & offset_mask)
            answered |= 1 << index
        access.pending = pending = access.pending & ~answered
        if pending and access.shared:
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
