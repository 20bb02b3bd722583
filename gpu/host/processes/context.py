"""What a host program does in one address space: its queues, and running them.

Invariant: the device runs only inside `run`, `Signal.wait`, and operations on a device that has
work under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gpu.dispatch.launch import GroupStart, OnStop, StoppedWave
from gpu.errors import GpuError, HostError, InactiveQueueError
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes import running
from gpu.host.processes.machine import Machine
from gpu.host.processes.process_memory import ProcessMemory
from gpu.host.processes.running import Until
from gpu.host.processors.actions import Program
from gpu.host.processors.interpreter import Interpreter
from gpu.host.queue_allocation import DOORBELL_BYTES, DOORBELLS, QueueMemory
from gpu.host.task import Task
from gpu.hsa import queue_layout
from gpu.hsa.activities import Activities, Event, Steps
from gpu.hsa.queue import PACKETS, check_size
from gpu.hsa.queue_state import HIGHEST_PRIORITY, NORMAL_PRIORITY, Connection, QueueState
from gpu.hsa.signal import Signal
from gpu.memory.interface import Memory
from gpu.packet_processor.context_switch import SavedQueue, area_bytes
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.fences import Fences
from gpu.packet_processor.packet_processor import Callbacks, Handler

T = TypeVar("T")
OnError = Callable[[DeviceQueue, GpuError], None]


class Context(ProcessMemory):
    """``doorbells``: address of the page of doorbells, at which `_rung` is notified.
    ``hidden_base``: what FLAT_SCRATCH counts from."""

    def __init__(
        self, machine: Machine, memory: Memory, doorbells: int, hidden_base: int, vmid: int = 0
    ) -> None:
        super().__init__(machine, memory, vmid)
        self._queues: list[DeviceQueue] = []
        self._on_error: dict[int, OnError] = {}
        self._errors: list[Exception] = []
        self.doorbells = doorbells
        self._queue_memory = QueueMemory(
            memory,
            self._signals,
            doorbells,
            machine.options.apertures,
            len(machine.units),
            machine.waves_per_unit,
        )
        fences = Fences(machine.memory, machine.options.fences)
        self._command_processor = machine.command_processor(
            self._control, fences, self, hidden_base
        )
        self._processor = machine.processors[vmid] = machine.packet_processor(
            self._control,
            self._command_processor,
            fences,
            Callbacks(self._interrupt, machine.loop.calls.append, self._inactive, machine.packets),
        )

    @property
    def queues(self) -> tuple[DeviceQueue, ...]:
        """All that were made, destroyed ones included, by their number."""
        return tuple(self._queues)

    def on_agent_dispatch(self, type: int, handler: Handler) -> None:
        """Have agent-dispatch packets of this type call ``handler`` with their four numbers.
        Raises HostError for a type that no packet has."""
        if not 0 <= type < 1 << 16:
            raise HostError(f"an agent dispatch has a type of 16 bits, not {type}")
        self._processor.handlers[type] = handler

    def on_stop(self, handler: OnStop) -> None:
        """Have waves of kernels that are launched from now on stop at ``s_trap 1`` and ``3``;
        ``handler`` is called between two ticks. Raises HostError if there is one already."""
        if self._command_processor.on_stop is not None:
            raise HostError("there is a debugger already: another one would take its stops")

        def stopped(
            group: GroupStart, wave: StoppedWave, trap: int, resume: Callable[[], None]
        ) -> None:
            self.machine.loop.calls.append(lambda: handler(group, wave, trap, resume))

        self._command_processor.on_stop = stopped

    def set_trap_handler(self, base: int, memory: int) -> None:
        """TBA and TMA of kernels launched from now on; `gpu.host.debugging` checks them."""
        self._command_processor.trap_handler = (base, memory)

    # ------------------------------------------------------------------ agents beside the GPU

    @property
    def activities(self) -> Activities:
        """The sequences that the device runs beside its units."""
        return self.machine.loop.activities

    def port(self, index: int) -> ControlPort:
        """Accesses through a port of memory, as steps of a sequence."""
        return self._control.at(index)

    def start_task(self, what: str, steps: Steps[T]) -> Task[T]:
        """Begin a sequence of accesses of another agent, which runs whenever the device runs."""
        return Task(what, steps, self.machine.loop, self._errors.append)

    def start_program(self, program: Program, name: str, port: int) -> Task[Any]:
        """Begin a program of a core at a port; see `gpu.host.processors.cpu.Cpu.start`."""
        loop, poll = self.machine.loop, self.machine.options.pace.poll
        made = Interpreter(program, name, port, loop, poll, self.vmid)
        return self.start_task(f"a program of {name}", made.run())

    # ------------------------------------------------------------------ queues

    def create_queue(
        self,
        size: int = 64,
        *,
        producers: str = "many",
        doorbell: str = "plain",
        packets: str = "1.0",
        features: int = queue_layout.FEATURE_KERNEL_DISPATCH | queue_layout.FEATURE_AGENT_DISPATCH,
        profiled: bool = False,
        cu_mask: int | None = None,
        priority: int = NORMAL_PRIORITY,
        on_error: OnError | None = None,
    ) -> DeviceQueue:
        """An AQL queue of ``size`` packets, a power of two.

        ``producers``: ``one`` or ``many``. ``doorbell``: ``plain`` takes packet ids, ``legacy``
        is gfx8's, which counts one more and never decreases, ``gfx7`` the same in dwords.
        ``packets``: ``1.0`` or ``draft``, the header of the draft runtime (kernel dispatch and
        barrier only). ``cu_mask``: a bit per compute unit that may be used. ``priority``: 0 to 15,
        where there are fewer slots than queues. ``on_error`` is called once when an error has made
        the queue inactive; without it `run` raises the error. Raises HostError.
        """
        check_size(size)
        for what, value, known in (
            ("producers", producers, ("one", "many")),
            ("doorbell", doorbell, ("plain", "legacy", "gfx7")),
            ("packets", packets, PACKETS),
        ):
            if value not in known:
                allowed = " or ".join(map(repr, known))
                raise HostError(f"{what} is {allowed}, not {value!r}")
        if not 0 <= priority <= HIGHEST_PRIORITY:
            raise HostError(f"a priority is 0 to {HIGHEST_PRIORITY}, not {priority}")
        self.settle()
        number = len(self._queues)
        link = Connection(
            queue=self._queue_memory.allocate(number),
            cus=self._masked(cu_mask),
            doorbell_is_index=doorbell != "plain",
            doorbell_in_dwords=doorbell == "gfx7",
            size=size,
            draft=packets == "draft",
            id=number,
            vmid=self.vmid,
            priority=priority,
        )
        if self.machine.options.preempt:
            link.save_area = self._queue_memory.save_area(number, *self.save_area_bytes)
        kind = queue_layout.TYPE_MULTI if producers == "many" else queue_layout.TYPE_SINGLE
        inactive = self.signal(0).handle
        self._queue_memory.write(link, size, kind, features, profiled, inactive)
        return self.adopt(link, on_error)

    @property
    def save_area_bytes(self) -> tuple[int, int]:
        """The size of a context save area: of header and control stack, and in all."""
        return area_bytes(self.machine.units)

    def adopt(self, link: Connection, on_error: OnError | None = None) -> DeviceQueue:
        """Begin to serve a queue whose memory exists already, and assign its number.

        Raises HostError when all doorbells are taken.
        """
        if len(self._queues) >= DOORBELLS:
            raise HostError(f"there are {DOORBELLS} doorbells; no further queue can be made")
        link.id, link.vmid = len(self._queues), self.vmid
        if link.save_area is not None:
            self.machine.keep_to_the_clock()  # if waves are resident, this queue keeps its own
        apertures = self.machine.options.apertures
        queue = DeviceQueue(self, link, (apertures.shared, apertures.private))
        self._queues.append(queue)
        if on_error is not None:
            self._on_error[link.id] = on_error
        self.map(queue)
        return queue

    def map(self, queue: DeviceQueue) -> None:
        """Serve a queue as soon as there is a slot."""
        self.machine.scheduler.add(queue.link)

    def unmap(self, queue: DeviceQueue) -> None:
        """Run until the queue is idle, or its waves are in its save area, and serve it no longer;
        doorbells are remembered."""
        link = queue.link
        if self.machine.scheduler.serves(link):
            link.gives_way = Event()
            link.changed.fire()
        while link.active and self.machine.scheduler.serves(link) and not link.idle:
            if not self.machine.loop.tick():
                break
        self.machine.scheduler.remove(link)

    def saved(self, queue: DeviceQueue) -> SavedQueue | None:
        """What is in a queue's save area while its waves are off the units."""
        return self._processor.saved(queue.link)

    def _masked(self, mask: int | None) -> tuple[int, ...]:
        """Which units a mask names. Raises HostError for none."""
        count = len(self.machine.units)
        if mask is None:
            return tuple(range(count))
        cus = tuple(cu for cu in range(count) if mask >> cu & 1)
        if not cus:
            raise HostError(f"mask {mask:#x} has none of the {count} compute units")
        return cus

    def _own(self, queue: DeviceQueue) -> None:
        """Raises HostError for a queue of another device or process, whose addresses differ."""
        if not queue.belongs_to(self):
            raise HostError(f"{queue.link.name} is another device's, or another process's")

    def set_cu_mask(self, queue: DeviceQueue, mask: int) -> None:
        """For groups that start from now on, of running dispatches as well. Raises HostError."""
        self._own(queue)
        self._processor.set_cus(queue.link, self._masked(mask))

    def inactivate(self, queue: DeviceQueue, why: str = "made inactive by the host") -> None:
        """Stop a queue and end its waves; what was launched completes with an error. Raises
        HostError for another device's."""
        self._own(queue)
        if queue.link.active:
            self._processor.inactivate(queue.link, why)
        while queue.link.state is QueueState.ERROR_PENDING:
            if not self.machine.loop.tick():
                raise GpuError(f"{queue.link.name} cannot come to its end")

    def fail_queue(self, queue: DeviceQueue, rule: str, value: object) -> None:
        """Stop a queue that breaks a rule outside of its packets; running packets complete."""
        self._processor.fail(queue.link, rule, value)

    def complete_after(self, signals: Sequence[Signal], whole: Signal) -> None:
        """Have ``whole`` completed when each signal in turn has come down to 0; with an error when
        one is negative."""
        handles = [self.handle_of(signal) for signal in signals]
        self._processor.complete_after(handles, self.handle_of(whole))

    def call_after(self, signal: Signal, function: Callable[[], None]) -> None:
        """Call a function between two ticks, after a signal has come to 0 or below."""
        self._processor.call_after(self.handle_of(signal), function)

    def destroy(self, queue: DeviceQueue) -> None:
        """Stop a queue; packets that were not taken complete with an error. Frees its memory.
        Raises HostError for another device's."""
        self._own(queue)
        if queue.state is QueueState.DESTROYED:
            return
        self.inactivate(queue, "destroyed by the host")
        self.settle()
        queue.fail_what_is_left()
        ring = queue.field("base_address")
        queue.link.state = QueueState.DESTROYED
        self.memory.space.free(ring)
        self.memory.space.free(queue.address)
        if queue.link.save_area is not None:
            self.memory.space.free(queue.link.save_area.address)

    def _rung(self, offset: int, data: bytes) -> None:
        """A store at an offset in the page of doorbells."""
        number = offset // DOORBELL_BYTES
        if number < len(self._queues):
            link = self._queues[number].link
            link.rung(data)
            self.machine.scheduler.rung(link)

    def _inactive(self, link: Connection) -> None:
        """Called in the middle of a tick: the host is notified between two ticks."""
        error = link.error
        if error is None or isinstance(error, InactiveQueueError):
            return
        on_error = self._on_error.pop(link.id, None)
        if on_error is None:
            self._errors.append(error)
        else:
            queue = self._queues[link.id]
            self.machine.loop.calls.append(lambda: on_error(queue, error))

    # ------------------------------------------------------------------ time

    @property
    def now(self) -> int:
        """Ticks since the start."""
        return self.machine.memory.now

    def run(self, until: Until | None = None, limit: int | None = None) -> None:
        """Run until a signal is below 1, a program of a processor has ended, a condition holds, or
        nothing more can happen.

        ``limit``: ticks. Raises the error of a queue that became inactive, what a program of a
        processor raised, NoProgressError if ``until`` can never hold. A kernel that waits in vain
        fails, but not while the host or such a program may still act: with a ``limit``, on a
        condition that is a function, between two accesses of a program.
        """
        try:
            running.run(self.machine.loop, self, until, limit)
        finally:
            self.printing.collect()

    @property
    def failed(self) -> bool:
        """Whether an error is to be raised."""
        return bool(self._errors)

    @property
    def stopping(self) -> bool:
        """Whether a queue whose errors are raised is coming to its end."""
        return any(
            queue.state is QueueState.ERROR_PENDING
            for queue in self._queues
            if queue.link.id not in self._on_error
        )

    def raise_error(self) -> None:
        """Raise the first error that was not raised yet."""
        if self._errors:
            raise self._errors.pop(0)
