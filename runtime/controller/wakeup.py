"""The wake-up loop of a controller, and what may hold a transition back.

Invariant: polling starts again from the first port after every transition, so that early ports
have absolute priority; a controller that has nothing to do is never run; a transition either runs
completely or changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, Protocol

from runtime.controller.base import ControllerBase
from runtime.controller.declarations import (
    COMPUTED,
    UNCOUNTED,
    BufferParameter,
    ControllerContext,
    InPort,
    Parameter,
    PollResult,
    Transaction,
    Transition,
    TransitionTable,
)
from runtime.controller.source_location import explain, port_location
from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.message_buffer import MessageBuffer, Occupancy
from runtime.types.enumeration import Enumeration

_ALWAYS = (True,)


class TransitionObserver(Protocol):
    """Called after every transition; states and events are the machine's numbers."""

    def __call__(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None: ...


class StallObserver(Protocol):
    """Called for every transition that is held back, once for each look at it."""

    def __call__(self, controller: Controller, address: int, state: int, event: int, /) -> None: ...


class _Guard:
    """What must hold before a row of the table may run; rows without needs have none."""

    __slots__ = ("checks", "records", "requests", "stalls")

    def __init__(
        self,
        checks: tuple[tuple[Callable[[int], bool], int], ...],
        requests: tuple[int, ...],
        records: tuple[int, ...],
        stalls: bool,
    ) -> None:
        self.checks = checks
        self.requests = requests
        self.records = records
        self.stalls = stalls


GetState = Callable[[Any, Any, int], int]
SetState = Callable[[Any, Any, int, int], None]
SetAccessPermission = Callable[[Any, int, int], None]
Accessors = tuple[GetState, SetState, SetAccessPermission]
"""The state of a line by TBE, entry and address, setting it, and setting the entry's permission."""

_Row = tuple[int, tuple[Callable[[Any, Transaction], None], ...], _Guard | None]


def _with_own_code(method: FunctionType) -> FunctionType:
    return FunctionType(
        method.__code__.replace(), method.__globals__, method.__name__, method.__defaults__
    )


class Controller(ControllerBase):
    """Base of all controllers. Generated classes derive from one of the four shapes below."""

    __slots__ = (
        "_comment",
        "_get_state",
        "_limit",
        "_polls",
        "_ranked",
        "_rows",
        "_set_access_permission",
        "_set_state",
        "_stride",
        "busy_cycles",
        "counts",
        "debug",
        "max_transitions_per_tick",
        "observer",
        "ports",
        "stall_observer",
        "trace_sink",
        "transaction",
        "transitions",
        "transitions_per_cycle",
    )

    REQUEST_TYPES: ClassVar[type[Enumeration] | None] = None
    PERMISSIONS: ClassVar[tuple[int, ...]] = ()
    TRANSITIONS: ClassVar[TransitionTable] = {}
    PARAMETERS: ClassVar[tuple[Parameter | BufferParameter, ...]] = ()
    RESOURCES_ONLY_CACHES: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Give every machine a copy of the code that all transitions go through.

        CPython specialises code for the classes that it sees: with one copy for several machines
        it does so over and over, for 7 % of all instructions of a run.
        """
        super().__init_subclass__()
        for name in ("wakeup", "_poll_ports", "trigger"):
            setattr(cls, name, _with_own_code(getattr(cls, name)))

    def __init__(self, context: ControllerContext) -> None:
        ControllerBase.__init__(self, context)
        self.transitions_per_cycle = context.transitions_per_cycle
        self.max_transitions_per_tick = context.max_transitions_per_tick
        if self.transitions_per_cycle < 1 or self.max_transitions_per_tick < 1:
            raise ValueError(f"{self!r} may make no transitions at all")
        self._limit = min(self.transitions_per_cycle, self.max_transitions_per_tick)
        self.ports: tuple[InPort, ...] = ()
        self.transitions: TransitionTable = {}
        self.transaction = Transaction()
        self.observer: TransitionObserver | None = None
        self.stall_observer: StallObserver | None = None
        self.trace_sink: Callable[[str], None] | None = None
        self.debug = False
        self.busy_cycles = 0
        self.counts: list[int] = []
        self._comment = ""
        self._polls: tuple[tuple[Any, Callable[[], PollResult], InPort], ...] = ()
        self._ranked = False
        self._rows: list[_Row | None] = []
        self._stride = 0

    # ------------------------------------------------------------ construction

    def bind(self, ports: tuple[InPort, ...], transitions: TransitionTable) -> None:
        """Take the ports in polling order and the table; the last step of construction.

        Slot needs on buffers without limit are dropped here, so that a row without other
        needs costs nothing to check.
        """
        self.ports = ports
        self.transitions = transitions
        self._get_state, self._set_state, self._set_access_permission = self.accessors()
        self._ranked = len({port.rank for port in ports}) > 1
        polls = []
        for port in ports:
            port.buffer.set_consumer(self)
            buffer = port.buffer
            ready: Any = _ALWAYS
            if isinstance(buffer, MessageBuffer):
                if port.guarded:
                    ready = buffer.messages
                if buffer is self.parameters.get("mandatoryQueue"):
                    self.mandatory_queue = buffer
                elif buffer is self.parameters.get("responseFromMemory"):
                    self.memory_response = buffer
            polls.append((ready, port.poll, port))
        self._polls = tuple(polls)
        for declared in self.PARAMETERS:
            if "requestToMemory" in declared.name:
                self.connect_memory(self.parameters[declared.name])
        states = self.STATES.NUM + 1
        self._stride = self.EVENTS.NUM + 1
        self._rows = [None] * (states * self._stride)
        self.counts = [0] * (states * self._stride)

    def _first_use(self, index: int, state: int, event: int) -> _Row:
        """A row is made when it is first wanted: short runs come to few of them."""
        place = divmod(index, self._stride)
        transition = self.transitions.get(place)
        if transition is None:
            raise self._undefined(state, event)
        row = self._rows[index] = self._row(place[0], transition)
        return row

    def intervene(self, state: int, event: int, transition: Transition) -> None:
        """Let the table have another row, before the run begins: *what if* of a diagnosis."""
        self._rows[state * self._stride + event] = self._row(state, transition)

    def _row(self, state: int, transition: Transition) -> _Row:
        checks = []
        for need in sorted(transition.needs, key=lambda need: need.target):
            target = getattr(self, need.target)
            if not (isinstance(target, Occupancy) and not target.capacity):
                checks.append((target.areNSlotsAvailable, need.count))
        records = transition.requests
        if self.RESOURCES_ONLY_CACHES and not self.has_resource_stalls():
            records = ()
        names = self.REQUEST_TYPES
        requests = tuple(dict.fromkeys(records))
        if names is not None:
            requests = tuple(sorted(requests, key=names.name_of))
        guard = None
        if checks or records or transition.stalls:
            guard = _Guard(tuple(checks), requests, records, transition.stalls)
        following = state if transition.next is None else transition.next
        return following, transition.actions, guard

    def run_before(
        self, state: int, event: int, action: Callable[[Any, Transaction], None]
    ) -> None:
        """Let a transition run ``action`` first, for those who want to stop there."""
        index = state * self._stride + event
        row = self._rows[index] or self._row(state, self.transitions[state, event])
        following, actions, guard = row
        self._rows[index] = following, (action, *actions), guard

    @property
    def ranked(self) -> bool:
        return self._ranked

    def count_of(self, state: int, event: int) -> int:
        """How often the transition has run."""
        return self.counts[state * self._stride + event]

    # ------------------------------------------------------------ running

    def wakeup(self) -> None:
        """Poll the ports until a pass triggers nothing or the cycle's transitions are used up."""
        now = self.engine.now
        try:
            if self.memory_request is not None and self.memory_request.messages:
                self.service_memory()
            if self.busy_tick != now:
                self.busy_tick = now
                left = self._poll_ports(self._limit)
            else:
                left = self._poll_ports(self.left)
            self.left = left
            self.current = None
            if not left:
                self._exhausted(now)
        except Exception as error:
            verdict = explain(self, error)
            if verdict is error:
                raise
            raise verdict from error

    def _poll_ports(self, left: int) -> int:
        """Make up to ``left`` transitions; what is left of them when nothing more can be done."""
        polls = self._polls
        passes = 0
        while left:
            for ready, poll, port in polls:
                if ready:
                    self.current = port
                    result = poll()
                    if result:
                        if result != UNCOUNTED:
                            left -= 1
                        break
            else:
                if not self.woken:
                    break
                self.woken = False
                passes += 1
                if passes > self.engine.max_rounds:
                    raise self._endless_passes()
        return left

    def _endless_passes(self) -> ProtocolError:
        """Ports wake messages again and again of which no transition takes any."""
        error = ProtocolError(
            ErrorKind.TOO_MANY_TRANSITIONS,
            f"more than {self.engine.max_rounds:,} passes over the ports in one wake-up",
        )
        if self.current is not None:
            error.action = self.current.poll.__name__
            error.location = port_location(type(self), error.action)
        return error

    def trigger(self, event: int, address: int, entry: Any = None, tbe: Any = None) -> bool:
        """Run the transition of the line's state on ``event``; false if it stalled."""
        state = self._get_state(tbe, entry, address)
        index = state * self._stride + event
        self.transition_event = event
        self.transition_state = state
        try:
            row = self._rows[index]
        except IndexError:
            row = None
        if row is None:
            row = self._first_use(index, state, event)
        next_state, actions, guard = row
        if next_state == COMPUTED:
            next_state = self.getNextState(address)
        if guard is not None:
            blocked = self._blocked(guard, address)
            if blocked is not None:
                if self.stall_observer is not None:
                    self.stall_observer(self, address, state, event)
                return blocked
        t = self.transaction
        t.address = address
        t.cache_entry = entry
        t.tbe = tbe
        for action in actions:
            action(self, t)
        self.counts[index] += 1
        entry = t.cache_entry
        self._set_state(t.tbe, entry, address, next_state)
        self._set_access_permission(entry, address, next_state)
        observer = self.observer
        if observer is not None:
            comment, self._comment = self._comment, ""
            observer(self, address, state, event, next_state, comment)
        return True

    def _exhausted(self, now: int) -> None:
        if self.transitions_per_cycle > self.max_transitions_per_tick:
            raise ProtocolError(
                ErrorKind.TOO_MANY_TRANSITIONS,
                f"{self.max_transitions_per_tick} transitions without progress of time",
            )
        self.busy_cycles += 1
        self.engine.schedule(self, now + 1)

    def _blocked(self, guard: _Guard, address: int) -> bool | None:
        """None if the row may run; otherwise what ``trigger`` returns for the stall.

        Order: slots by name of the object, then request types by name, then the types are
        recorded, and only then does ``z_stall`` stall.
        """
        for available, count in guard.checks:
            if not available(count):
                return self._resource_stall()
        if guard.records:
            check: Callable[[int, int], bool] = self.checkResourceAvailable
            for request in guard.requests:
                if not check(request, address):
                    return self._resource_stall()
            for request in guard.records:
                self.recordRequestType(request, address)
        if guard.stalls:
            port = self.current
            return self._stalled(None if port is None else port.protocol_stall_handler)
        return None

    def _resource_stall(self) -> bool:
        port = self.current
        return self._stalled(None if port is None else port.resource_stall_handler)

    def _stalled(self, handler: Callable[[], bool] | None) -> bool:
        if handler is not None and handler():
            return True
        now = self.engine.now
        self.stalled_at = (now, self.transition_state, self.transition_event)
        self.engine.schedule(self, now + 1)
        return False

    def _undefined(self, state: int, event: int) -> ProtocolError:
        if not (0 <= state < self.STATES.NUM and 0 <= event < self.EVENTS.NUM):
            return ProtocolError(
                ErrorKind.ENUM_RANGE,
                f"transition on state {self.STATES.name_of(state)}, "
                f"event {self.EVENTS.name_of(event)}",
            )
        return ProtocolError(
            ErrorKind.UNDEFINED_TRANSITION,
            f"no transition from {self.STATES.name_of(state)} on {self.EVENTS.name_of(event)}",
        )

    # ------------------------------------------------------------ overridden by the protocol

    def comment(self, value: object) -> None:
        """Append to the comment of the running transition."""
        self._comment += str(value)

    def dprintf(self, flag: str | None, format: str, *arguments: object) -> None:
        """A trace statement of the protocol; called when ``debug`` is on."""
        if self.trace_sink is not None:
            try:
                text = format % arguments
            except (TypeError, ValueError):
                text = " ".join([format, *map(repr, arguments)])
            self.trace_sink(f"{self.engine.now}: {self!r}: {flag or ''}: {text.rstrip()}")

    # ------------------------------------------------------------ defined by machines

    def accessors(self) -> Accessors:
        """What `trigger` calls; the four shapes differ in what their machines' functions take."""
        raise NotImplementedError

    def checkResourceAvailable(self, request: int, address: int, /) -> bool:
        """Whether a request type's resources are free. Machines with request types define it."""
        raise NotImplementedError(f"{self.MACHINE} has no checkResourceAvailable")

    def recordRequestType(self, request: int, address: int, /) -> None:
        """Take a request type's resources. Machines with request types define it."""
        raise NotImplementedError(f"{self.MACHINE} has no recordRequestType")

    def getNextState(self, address: int, /) -> int:
        """The next state of a row written ``*``."""
        raise ProtocolError(ErrorKind.ASSERTION, f"{self.MACHINE} has no getNextState")

    def mandatoryQueueLatency(self, kind: int, /) -> int:
        """Cycles between a requester's issue and the message's arrival."""
        return self.mandatory_queue_latency

    def notifyCoalesced(
        self, address: int, kind: int, request: Any, data: Any, miss: bool, /
    ) -> None:
        """A requester completed a request by another one's miss. Machines may override it."""

    def enqueuePrefetch(self, address: int, kind: int, /) -> None:
        """A prefetcher wants a line. Machines with a prefetcher override it."""

    def regProbePoints(self) -> None:
        """Start-up hook of machines with a prefetcher proxy."""
