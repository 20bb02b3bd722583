"""Takes packets out of user queues, in order, and processes them to their completion.

Each queue has a sequence of its own that fetches, launches and, for barrier packets, waits; each
launched packet has one that completes it. Invariant: a packet that was launched completes once,
with success or with an error, whatever happens to its queue.

Source: D2 sections 2.5.2 and 2.6 for states; HSA Platform System Architecture 1.0 for packets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gpu.dispatch.dispatcher import Dispatcher
from gpu.dispatch.kernel_run import KernelRun
from gpu.dispatch.launch import Fault
from gpu.errors import (
    GpuError,
    InactiveQueueError,
    KernelError,
    PacketError,
    QueueError,
    RuleError,
)
from gpu.hsa.activities import Activity, Event, Pause, Steps
from gpu.hsa.aql import (
    PACKET_BYTES,
    AgentDispatch,
    Barrier,
    Header,
    PacketType,
)
from gpu.hsa.draft_packets import from_draft
from gpu.hsa.packet_validation import check_feature, check_format, check_signal
from gpu.hsa.queue_layout import AMD_QUEUE, PROPERTY_PROFILING
from gpu.hsa.queue_state import NOT_YET, ActiveDispatch, Connection, QueueKind, QueueState
from gpu.hsa.signal import VALUE
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.command_processor import CommandProcessor
from gpu.packet_processor.completion import Completions
from gpu.packet_processor.context_switch import ContextSwitch, SavedQueue
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.eop_ring import write_entry
from gpu.packet_processor.families import call_after, complete_after
from gpu.packet_processor.fences import Fences
from gpu.packet_processor.packet_log import PacketLog

Handler = Callable[[tuple[int, int, int, int]], int | None]
"""What an agent dispatch calls: the packet's arguments to the value for its return address."""

Serve = Callable[[Connection], Steps[None]]

_INACTIVE_REASONS: Final[tuple[type[GpuError], ...]] = (
    PacketError,
    QueueError,
    KernelError,
    InactiveQueueError,
)
"""The queue's inactive signal gets the position in this list, from 1 on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of the front end, in ticks. ``poll``: between two polls of a signal or an unwritten
    packet. ``packet``: from fetching a packet to launching it. ``ahead``: packets fetched at once.
    """

    poll: int = 200
    packet: int = 0
    ahead: int = 16


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks of the packet processor.

    ``interrupt``: called with event numbers. ``call``: has a function called outside of any
    sequence. ``inactive``: called with queues that have become inactive.
    """

    interrupt: Callable[[int], None]
    call: Callable[[Callable[[], None]], None]
    inactive: Callable[[Connection], None]
    log: PacketLog = field(default_factory=PacketLog)


class PacketProcessor:
    """Serves any number of queues. ``handlers``: of agent dispatches, by type.

    ``most_in_flight``: packets of a queue that are under way at once; None: any number.
    """

    def __init__(
        self,
        control: ControlPort,
        command_processor: CommandProcessor,
        dispatcher: Dispatcher,
        fences: Fences,
        callbacks: Callbacks,
        pace: Pace = Pace(),
        most_in_flight: int | None = None,
    ) -> None:
        self._switch = ContextSwitch(control, dispatcher, fences)
        self.handlers: dict[int, Handler] = {}
        self.services: dict[QueueKind, Serve] = {QueueKind.AQL: self._serve}
        """The sequence of each kind of queue."""
        self._control = control
        self._activities = control.activities
        self._command_processor = command_processor
        self._dispatcher = dispatcher
        self._fences = fences
        self._completions = Completions(control, callbacks.interrupt)
        self._callbacks = callbacks
        self._pace = pace
        self._most_in_flight = most_in_flight

    def connect(self, link: Connection) -> Activity:
        """Begin to serve a queue whose memory exists; may be cancelled while it is idle."""
        return self._activities.start(self.services[link.kind](link))

    def inactivate(self, link: Connection, why: str) -> None:
        """Stop a queue by request: its waves are ended, what was launched completes as error."""
        self.stop(link, InactiveQueueError(f"{link.name}: {why}"))
        self._dispatcher.kill(link.queue, Fault(why))

    def saved(self, link: Connection) -> SavedQueue | None:
        """What is in a queue's save area while its waves are off the units."""
        return self._switch.saved(link)

    def set_cus(self, link: Connection, cus: tuple[int, ...]) -> None:
        """Have groups that start from now on use these units alone."""
        link.cus = cus
        for run in link.runs:
            self._restrict(link, run)

    def _restrict(self, link: Connection, run: ActiveDispatch) -> None:
        """Let a running dispatch obey the mask, which may have changed since its launch."""
        added = run.restrict(link.cus)
        if added:
            self._activities.start(self._allow(link, run, added))

    def _allow(self, link: Connection, run: ActiveDispatch, added: tuple[int, ...]) -> Steps[None]:
        """Units that are new to a dispatch, after its acquire fence in their caches."""
        link.note_used(added)
        yield from self._fences.acquire(run.packet.header.acquire, added, code=not link.draft)
        if not run.finished:
            run.allow(tuple(cu for cu in added if cu in link.cus))

    def fail(self, link: Connection, rule: str, value: object) -> None:
        """Stop a queue that breaks a rule outside of its packets; what was launched completes."""
        error = QueueError(rule, value)
        error.locate(link.name)
        self.stop(link, error)

    def complete_after(self, signals: Sequence[int], whole: int) -> None:
        """Complete the signal ``whole`` after these, see `gpu.packet_processor.families`."""
        self._activities.start(
            complete_after(self._control, self._completions, signals, whole, self._pace.poll)
        )

    def call_after(self, signal: int, function: Callable[[], None]) -> None:
        """Call a function between two ticks, after a signal has come to 0."""
        self._activities.start(
            call_after(
                self._control, signal, self._pace.poll, lambda: self._callbacks.call(function)
            )
        )

    # ------------------------------------------------------------------ one queue

    def _serve(self, link: Connection) -> Steps[None]:
        ahead: deque[bytes] = deque()
        try:
            yield from self._read_queue(link)
            while not link.changed.count and not link.has_packets:
                yield from link.rest(Pause(None, link.changed, 0))
            while link.active:
                yield from self._keep_to_its_share(link)
                data = yield from self._fetch(link, ahead)
                link.begin_turn(self._now)
                if data is not None and not (yield from self._process(link, data)):
                    ahead.appendleft(data)
        except Unmapped as error:
            self.stop(link, QueueError(f"{link.name}: its memory is mapped", error))

    def _keep_to_its_share(self, link: Connection) -> Steps[None]:
        """Take no further packet while enough are under way, or when the turn is over."""
        while link.active:
            if link.gives_way is not None:
                yield from self._give_way(link)
            elif link.saved:
                yield from self._put_back(link)
            elif self._most_in_flight is not None and link.incomplete >= self._most_in_flight:
                yield Pause(None, link.changed, link.changed.count)
            else:
                return

    def _give_way(self, link: Connection) -> Steps[None]:
        """Give the slot up, once no packet is under way or all waves are in the save area."""
        if link.incomplete and not link.saved and self._switch.possible(link):
            yield from self._switching(link, self._switch.save(link))
            link.saved = True
            if not link.active:
                yield from self._put_back(link)
        if link.gives_way is None or not link.active:
            return
        yield from link.rest(Pause(None, link.changed, link.changed.count))

    def _put_back(self, link: Connection) -> Steps[None]:
        """Let the waves in a queue's save area continue."""
        link.saved = False
        if self._switch.saved(link) is not None:
            link.since = NOT_YET
            yield from self._switching(link, self._switch.restore(link))
            link.since = self._now

    def _switching(self, link: Connection, steps: Steps[None]) -> Steps[None]:
        """A queue whose save area is not as it should be loses its waves."""
        try:
            yield from steps
        except (QueueError, Unmapped) as error:
            if isinstance(error, Unmapped):
                error = QueueError("a context save area is mapped", error)
            error.locate(link.name)
            self.stop(link, error)
            self._dispatcher.kill(link.queue, Fault(str(error)))

    def _read_queue(self, link: Connection) -> Steps[None]:
        data = yield from self._control.load(link.queue, AMD_QUEUE.size)
        fields = AMD_QUEUE.unpack(data)
        link.base, link.size = link.ring or (fields["base_address"], fields["size"])
        link.features = fields["features"]
        link.profiled = bool(fields["queue_properties"] & PROPERTY_PROFILING)
        link.read_id = fields["read_dispatch_id"]
        link.promised = max(link.promised, fields["max_legacy_doorbell_dispatch_id_plus_1"])

    def _fetch(self, link: Connection, ahead: deque[bytes]) -> Steps[bytes | None]:
        """The next packet that is no longer invalid; None when the queue is stopped."""
        while link.active and link.gives_way is None:
            seen, looked = link.changed.count, self._activities.happened
            if not ahead:
                count = min(self._pace.ahead, link.size, max(1, link.promised - link.read_id))
                slots = [(link.slot(link.read_id + step), PACKET_BYTES) for step in range(count)]
                ahead.extend((yield from self._control.load_all(slots)))
            if not link.is_invalid(ahead[0]):
                return ahead.popleft()
            ahead.clear()
            if link.promised > link.read_id:
                why = f"{link.name}: packet {link.read_id} is not written yet"
                yield from link.rest(Pause(self._pace.poll, link.changed, seen, looked, why))
            else:
                yield from link.rest(Pause(None, link.changed, seen))
        return None

    def _process(self, link: Connection, data: bytes) -> Steps[bool]:
        """Launch a packet and free its slot; or not, if the queue's turn ends before it may."""
        packet_id, where = link.read_id, f"{link.name}, packet {link.read_id}"
        if self._pace.packet:
            yield Pause(self._pace.packet)
        try:
            if link.draft:
                data, new_code = from_draft(data)
                if new_code:
                    yield from self._fences.code(link.cus)
            kind = check_format(data)
        except QueueError as error:
            error.locate(where)
            self.stop(link, error)
            return True
        header = Header.unpack(int.from_bytes(data[:2], "little"))
        if header.barrier:
            yield from self._earlier_complete(link)
        if not link.active or (header.barrier and link.gives_way is not None):
            return False
        link.incomplete += 1
        if link.begun != packet_id:  # it may be fetched again, after another queue's turn
            link.begun = packet_id
            self._callbacks.log.launch(link, kind, data)
        completion = int.from_bytes(data[-8:], "little")
        try:
            yield from self._launch(link, kind, data, completion)
        except GeneratorExit:
            link.incomplete -= 1
            raise
        except _TurnOver:
            link.incomplete -= 1
            return False
        except (PacketError, InactiveQueueError, Unmapped) as problem:
            self.stop(link, _located(problem, where))
            self._activities.start(self._end_with_error(link, completion))
        link.read_id = packet_id + 1
        yield from self._control.store(link.slot(packet_id), link.invalid_header)
        read_id = link.queue + AMD_QUEUE.field("read_dispatch_id").offset
        yield from self._control.store_int(read_id, link.read_id)
        return True

    def _earlier_complete(self, link: Connection) -> Steps[None]:
        why = f"{link.name}: packet {link.read_id} waits for the packets before it"
        while link.incomplete and link.active and link.gives_way is None:
            yield Pause(None, link.changed, link.changed.count, why=why)

    # ------------------------------------------------------------------ launching

    def _launch(
        self, link: Connection, kind: PacketType, data: bytes, completion: int
    ) -> Steps[None]:
        """Raises PacketError, InactiveQueueError or Unmapped if the packet cannot complete well."""
        check_feature(kind, link.features)
        check_signal(completion, "the completion signal")
        if kind is PacketType.KERNEL_DISPATCH:
            run = yield from self._command_processor.launch(
                link,
                data,
                failed=lambda failed: self._kernel_failed(link, failed),
                interrupted=lambda message: self._interrupted(link, message),
            )
            if not link.active:
                self._command_processor.forget(link, run)
                raise InactiveQueueError(f"{link.name}: stopped before the packet was active")
            link.runs.append(run)
            self._restrict(link, run)
            self._dispatcher.submit(run)
            self._callbacks.log.active(link, link.read_id, run.kernel, run.groups)
            self._activities.start(self._finish_run(link, run, self._now))
        elif kind is PacketType.AGENT_DISPATCH:
            packet = AgentDispatch.unpack(data)
            handler = self.handlers.get(packet.type)
            if handler is None:
                raise PacketError("an agent dispatch has a type that is handled", packet.type)
            self._activities.start(self._run_agent(link, link.read_id, packet, handler))
        else:
            yield from self._wait_barrier(link, kind, Barrier.unpack(data))

    def _wait_barrier(self, link: Connection, kind: PacketType, packet: Barrier) -> Steps[None]:
        """A barrier packet, to its completion: the queue's later packets wait."""
        for signal in packet.dependencies:
            check_signal(signal, "a dependency")
        link.blocked = True
        try:
            yield from self._dependencies(link, kind, packet)
        finally:
            link.blocked = False
        start = self._now
        yield from self._fences.acquire(packet.header.acquire, link.cus)
        yield from self._end(link, packet.header, packet.completion, start)

    def _dependencies(self, link: Connection, kind: PacketType, packet: Barrier) -> Steps[None]:
        pending = [signal for signal in packet.dependencies if signal]
        where = f"{link.name}: packet {link.read_id} waits for signal"
        while pending:
            if not link.active:
                raise InactiveQueueError(f"{link.name}: stopped while the packet waited")
            if link.gives_way is not None and link.runs and self._switch.possible(link):
                raise _TurnOver
            seen, looked = self._activities.news.count, self._activities.happened
            places = [(signal + VALUE, 8) for signal in pending]
            data = yield from self._control.load_all(places)
            values = [int.from_bytes(each, "little", signed=True) for each in data]
            for signal, value in zip(pending, values, strict=True):
                if value < 0:
                    raise PacketError(f"dependency {signal:#x} is no error", value)
            if kind is PacketType.BARRIER_OR and 0 in values:
                return
            pending = [signal for signal, value in zip(pending, values, strict=True) if value]
            if pending:
                why = ", ".join(f"{each:#x} = {value}" for each, value in zip(pending, values))
                news = self._activities.news
                pause = Pause(self._pace.poll, news, seen, looked, f"{where} {why}")
                yield from link.rest(pause)

    # ------------------------------------------------------------------ completing

    def _finish_run(self, link: Connection, run: KernelRun, start: int) -> Steps[None]:
        while not run.finished:
            why = f"{link.name}: packet {run.around.packet_id}, kernel {run.kernel}, is running"
            yield Pause(None, run.over, run.over.count, why=why)
        link.runs.remove(run)
        if run.fault is None:
            where = f"{link.name}, packet {run.around.packet_id}"
            packet, number = run.packet, run.around.packet_id
            yield from self._end_guarded(
                link, packet.header, packet.completion, start, where, number
            )
        else:
            yield from self._end_with_error(link, run.packet.completion)
        self._command_processor.forget(link, run)

    def _run_agent(
        self, link: Connection, packet_id: int, packet: AgentDispatch, handler: Handler
    ) -> Steps[None]:
        start, where = self._now, f"{link.name}, packet {packet_id}"
        yield from self._fences.acquire(packet.header.acquire, link.cus)
        answered, results = Event(), list[int | None]()

        def call() -> None:
            results.append(handler(packet.arguments))
            answered.fire()

        self._callbacks.call(call)
        while not results:
            yield Pause(None, answered, answered.count)
        try:
            if packet.return_address and results[0] is not None:
                yield from self._control.store_int(packet.return_address, results[0])
        except Unmapped as error:
            self.stop(link, _located(error, where))
            yield from self._end_with_error(link, packet.completion)
            return
        yield from self._end_guarded(link, packet.header, packet.completion, start, where)

    def _end_guarded(
        self,
        link: Connection,
        header: Header,
        completion: int,
        start: int,
        where: str,
        kernel: int | None = None,
    ) -> Steps[None]:
        """`_end` in a sequence of its own, where no caller would see an error."""
        try:
            yield from self._end(link, header, completion, start, kernel)
        except (PacketError, Unmapped) as problem:
            self.stop(link, _located(problem, where))
            self._completed(link, well=False)

    def _end(
        self,
        link: Connection,
        header: Header,
        completion: int,
        start: int,
        kernel: int | None = None,
    ) -> Steps[None]:
        """Release, signal. ``kernel``: the packet's id, if it has run one. Raises PacketError or
        Unmapped if the signal is not valid."""
        yield from self._fences.release(header.release, link.used or link.cus)
        if kernel is not None:
            yield from write_entry(self._control, link, kernel, completion)
        times = (start, self._now) if link.profiled else None
        yield from self._completions.succeed(completion, times)
        self._completed(link, well=True)

    def _end_with_error(self, link: Connection, completion: int) -> Steps[None]:
        """The packet's error is known already, so an invalid signal is ignored."""
        try:
            yield from self._completions.fail(completion)
        except (PacketError, Unmapped):
            pass
        finally:
            self._completed(link, well=False)

    def _completed(self, link: Connection, well: bool) -> None:
        link.incomplete -= 1
        assert link.incomplete >= 0, "a packet completes once"
        self._callbacks.log.complete(link, well)
        self._happened(link)

    def _happened(self, link: Connection) -> None:
        self._activities.notify()
        link.changed.fire()

    @property
    def _now(self) -> int:
        return self._activities.memory.now

    # ------------------------------------------------------------------ errors

    def _kernel_failed(self, link: Connection, run: KernelRun) -> None:
        assert run.fault is not None, "a failure was reported without a fault"
        where = f"{link.name}, packet {run.around.packet_id}"
        self.stop(link, KernelError(run.kernel, where, str(run.fault), run.fault.waves))
        self._dispatcher.kill(link.queue, run.fault)

    def _interrupted(self, link: Connection, message: int) -> None:
        """A wave has sent a message; a trap handler's may be about its queue."""
        self._callbacks.interrupt(message)
        if self._command_processor.trap_handler[0]:
            self._activities.start(self._look_for_error(link))

    def _look_for_error(self, link: Connection) -> Steps[None]:
        """Whether a trap handler has set the queue's inactive signal."""
        field = AMD_QUEUE.field("queue_inactive_signal")
        try:
            signal = yield from self._control.load_int(link.queue + field.offset)
            code = yield from self._control.load_int(signal + VALUE)
        except Unmapped:
            return
        if code and link.active:
            why = f"its trap handler has reported error {code}"
            kernel = link.runs[0].kernel if link.runs else ""
            self.stop(link, KernelError(kernel, link.name, why))
            self._dispatcher.kill(link.queue, Fault(why))

    def stop(self, link: Connection, error: GpuError) -> None:
        """The first error of a queue ends its service."""
        if not link.active:
            return
        link.state, link.error = QueueState.ERROR_PENDING, error
        self._callbacks.log.stopped(link, error)
        self._happened(link)
        self._activities.start(self._wind_down(link, error))

    def _wind_down(self, link: Connection, error: GpuError) -> Steps[None]:
        if link.saved:
            yield from self._put_back(link)
        while link.incomplete:
            yield Pause(None, link.changed, link.changed.count)
        if link.kind is QueueKind.AQL:
            yield from self._set_inactive_signal(link, error)
        link.state = QueueState.INACTIVE
        self._switch.forget(link)
        self._callbacks.log.inactive(link)
        self._happened(link)
        self._callbacks.inactive(link)

    def _set_inactive_signal(self, link: Connection, error: GpuError) -> Steps[None]:
        try:
            field = AMD_QUEUE.field("queue_inactive_signal")
            signal = yield from self._control.load_int(link.queue + field.offset)
            reason = next(
                place for place, kind in enumerate(_INACTIVE_REASONS, 1) if isinstance(error, kind)
            )
            yield from self._completions.set(signal, reason)
        except (PacketError, Unmapped):
            pass


class _TurnOver(Exception):
    """A barrier packet waits for its signals, and another queue is to get the slot."""


def _located(problem: GpuError | Unmapped, where: str) -> GpuError:
    if isinstance(problem, Unmapped):
        problem = PacketError("every address that a packet names is mapped", problem)
    if isinstance(problem, RuleError):
        problem.locate(where)
    return problem
