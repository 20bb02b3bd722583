"""A GPU as its host program sees it: memory, code objects, queues, time.

What its memory and its compute units are is chosen by `gpu.host.device`.

Invariant: the device runs only inside `run`, `Signal.wait`, and operations on a device that has
work under way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpu.code_object import (
    DEFAULT_PROCESSOR,
    RUNNABLE,
    CodeObject,
    Kernel,
    LoadedCodeObject,
    LoadedKernel,
    generation_of,
    load,
)
from gpu.dispatch.device_loop import Loop, Mover
from gpu.dispatch.dispatcher import Dispatcher, Placement
from gpu.dispatch.launch import ComputeUnit, GroupStart, OnStop, StoppedWave
from gpu.errors import GpuError, HostError, InactiveQueueError, NoProgressError
from gpu.generation import Generation
from gpu.host.buffer import Buffer
from gpu.host.device_queue import DeviceQueue
from gpu.host.host_access import DeviceHost
from gpu.host.printf import Printing
from gpu.host.processors.actions import Program
from gpu.host.processors.interpreter import Interpreter
from gpu.host.queue_allocation import DOORBELL_BYTES, DOORBELLS, QueueMemory
from gpu.host.suballocator import Arena
from gpu.host.task import Task
from gpu.host_wait import HostWait, NoObserver, WaitObserver
from gpu.hsa import queue_layout
from gpu.hsa.activities import Activities, Event, Steps
from gpu.hsa.queue import check_size
from gpu.hsa.queue_state import (
    HIGHEST_PRIORITY,
    NORMAL_PRIORITY,
    Connection,
    QueueKind,
    QueueState,
)
from gpu.hsa.signal import SIGNAL, VALUE, Signal
from gpu.memory.interface import Memory
from gpu.packet_processor.command_processor import Apertures, CommandProcessor, ScratchLimits
from gpu.packet_processor.commands.command_service import CommandService, Language
from gpu.packet_processor.commands.pm4 import Pm4
from gpu.packet_processor.commands.sdma import Sdma
from gpu.packet_processor.context_switch import SavedQueue, area_bytes
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.events import EMPTY, SLOT, SLOTS, EventPage, HostEvent
from gpu.packet_processor.fences import Fences, Obey
from gpu.packet_processor.packet_log import PacketLog, Report
from gpu.packet_processor.packet_processor import Callbacks, Handler, Pace, PacketProcessor
from gpu.packet_processor.queue_scheduler import IN_FLIGHT, Scheduler
from gpu.trace import Trace


def _to_output(text: str) -> None:
    sys.stdout.write(text)


T = TypeVar("T")
OnError = Callable[[DeviceQueue, GpuError], None]
Until = Signal | Task[Any] | Callable[[], bool]
"""A signal is below 1, a task has ended, a condition holds."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the front end behaves. ``dispatch_rate``: groups started per tick; None: no limit.
    ``slots``: queues that the packet processor serves at once; None: all. ``quantum``: ticks
    between two swaps while more queues exist; ``preempt``: queues that the runtime makes have
    context save areas, so that their waves can be taken off. ``printf``: called with the text that
    kernels print, after they have ended; ``printf_bytes``: room for what one dispatch prints, the
    rest is lost.
    """

    pace: Pace = field(default_factory=Pace)
    fences: Obey = Obey.HEADER
    placement: Placement = Placement.ROUND_ROBIN
    dispatch_rate: int | None = None
    slots: int | None = None
    quantum: int = 100_000
    preempt: bool = False
    printf: Callable[[str], object] = _to_output
    printf_bytes: int = 1 << 18
    apertures: Apertures = field(default_factory=Apertures)


class BareDevice:
    """Front end, compute units and memory put together; `gpu.host.device.Device` chooses them.

    ``units``: all compute units, in the order of their index. ``mover``: what lets them and memory
    run. ``observer``: looks for kernels that never end. ``trace``: notified of packets.
    ``waves_per_unit``: what a compute unit holds at once.
    """

    def __init__(
        self,
        memory: Memory,
        units: Sequence[ComputeUnit],
        options: Options,
        mover: Mover,
        observer: WaitObserver | None = None,
        trace: Trace | None = None,
        waves_per_unit: int = 40,
    ) -> None:
        self.memory = memory
        self.units = units
        self.options = options
        self._waves_per_unit = waves_per_unit
        activities = Activities(memory)
        observer = NoObserver() if observer is None else observer
        activities.on_news = observer.progress
        self._control = ControlPort(activities)
        self._dispatcher = Dispatcher(
            units, lambda: memory.now, options.placement, options.dispatch_rate
        )
        self._loop = Loop(memory, activities, self._dispatcher, units, mover, observer)
        self.host = DeviceHost(self._loop, self._control, self._interrupt, options.pace.poll)
        self.printing = Printing(memory.space, self.host, options.printf_bytes, options.printf)
        self._signals = Arena(memory.space, "cc", "signals")
        self._arguments = Arena(memory.space, "cc", "kernel arguments")
        self._loaded: dict[int, LoadedCodeObject] = {}
        self._kernels: dict[int, LoadedKernel] = {}
        self._queues: list[DeviceQueue] = []
        self._on_error: dict[int, OnError] = {}
        self._errors: list[Exception] = []
        self.doorbells = memory.space.map_doorbells(DOORBELLS * DOORBELL_BYTES, self._rung).start
        """Address of the page of doorbells."""
        self._queue_memory = QueueMemory(
            memory,
            self._signals,
            self.doorbells,
            options.apertures,
            len(units),
            waves_per_unit,
        )
        self.events = self._make_events()
        self.packets = PacketLog(self._reporter(trace))
        self._processor = self._make_processor()
        self._scheduler = Scheduler(activities, self._processor, options.slots, options.quantum)

    def _make_events(self) -> EventPage:
        page = self.memory.space.allocate(SLOTS * SLOT, memory_type="cc", name="event mailboxes")
        self.memory.write(page.start, EMPTY.to_bytes(SLOT, "little") * SLOTS)
        return EventPage(self._control, page.start)

    def _make_processor(self) -> PacketProcessor:
        options = self.options
        fences = Fences(self.memory, options.fences)
        self._command_processor = CommandProcessor(
            self._control,
            self._dispatcher,
            fences,
            self,
            self.memory.space,
            options.apertures,
            ScratchLimits(len(self.units) * self._waves_per_unit),
        )
        callbacks = Callbacks(
            self._interrupt, self._loop.calls.append, self._inactive, self.packets
        )
        processor = PacketProcessor(
            self._control,
            self._command_processor,
            self._dispatcher,
            fences,
            callbacks,
            options.pace,
            None if options.slots is None else IN_FLIGHT,
        )
        pm4 = Pm4(self._control, fences, self._interrupt, options.pace.poll)
        sdma = Sdma(
            self._control,
            [ControlPort(self._control.activities, port) for port in self.memory.ports.engines],
            lambda: generation_of(self.processor) is Generation.GFX9,
            self._interrupt,
            options.pace.poll,
        )
        languages: dict[QueueKind, Language] = {QueueKind.PM4: pm4, QueueKind.SDMA: sdma}
        for kind, language in languages.items():
            service = CommandService(
                self._control, language, self.packets, processor.stop, options.pace.packet
            )
            processor.services[kind] = service.serve
        return processor

    def _reporter(self, trace: Trace | None) -> Report | None:
        if trace is None or not trace.packets:
            return None
        return lambda who, text: trace.line(self.memory.now, who, text)

    # ------------------------------------------------------------------ memory

    def alloc(self, values: npt.ArrayLike, mtype: str = "rw", name: str = "buffer") -> Buffer:
        """Device memory that holds a copy of an array.

        ``mtype``: ``rw`` cached, ``cc`` coherent with other agents, ``uc`` not cached.
        """
        array = np.asarray(values)
        if array.dtype == object:
            raise HostError("an array of Python objects cannot be copied to a device")
        buffer = self._allocate(array.shape, array.dtype, mtype, name)
        buffer.write(array)
        return buffer

    def alloc_like(
        self, values: npt.ArrayLike | Buffer, mtype: str = "rw", name: str = "buffer"
    ) -> Buffer:
        """Zeroed device memory of the shape and type of an array or `Buffer`."""
        if not isinstance(values, Buffer):
            values = np.asarray(values)
        return self._allocate(values.shape, values.dtype, mtype, name)

    def _allocate(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], mtype: str, name: str
    ) -> Buffer:
        size = max(1, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        try:
            made = self.memory.space.allocate(size, memory_type=mtype, name=name)
        except ValueError as error:
            raise HostError(str(error)) from None
        return Buffer(self.host, made.start, shape, dtype)

    def free(self, buffer: Buffer) -> None:
        """Unmap a buffer; a kernel that still uses it fails. Raises HostError if it is not mapped
        here."""
        if buffer.host is not self.host:
            raise HostError("the buffer belongs to another device")
        try:
            self.memory.space.free(buffer.address)
        except ValueError as error:
            raise HostError(str(error)) from None

    def arguments(self, data: bytes) -> int:
        """Address of a copy that is aligned as an argument segment; 0 for no bytes."""
        if not data:
            return 0
        address = self._arguments.allocate(len(data))
        self.host.write(address, data)
        return address

    # ------------------------------------------------------------------ code

    def load(self, code_object: CodeObject) -> LoadedCodeObject:
        """Load a code object into memory, once."""
        loaded = self._loaded.get(id(code_object))
        if loaded is None:
            self.settle()
            self._check_processor(code_object)
            loaded = load(code_object, self.memory)
            self._loaded[id(code_object)] = loaded
            for kernel in loaded.kernels.values():
                self._kernels[kernel.object_address] = kernel
        return loaded

    @property
    def processor(self) -> str:
        """What the device is: what its code was compiled for, gfx803 before any is loaded."""
        runs = (each.code_object.target.processor for each in self._loaded.values())
        return next((name for name in runs if name in RUNNABLE), DEFAULT_PROCESSOR)

    def _check_processor(self, code_object: CodeObject) -> None:
        """A device runs code of one processor. Raises HostError for that of another."""
        name = code_object.target.processor
        if self._loaded and name in RUNNABLE and name != self.processor:
            raise HostError(
                f"{code_object.path}: compiled for {name}; this device has loaded code for "
                f"{self.processor} and runs no other"
            )

    def loaded_kernel(self, kernel: Kernel | LoadedKernel) -> LoadedKernel:
        """A kernel at its address; loads its code object if need be. Raises HostError for one that
        only another device has loaded."""
        if isinstance(kernel, LoadedKernel):
            here = self._kernels.get(kernel.object_address)
            if here is None or here.kernel.owner is not kernel.kernel.owner:
                raise HostError(f"kernel {kernel.name} was loaded by another device")
            return kernel
        if kernel.owner is None:
            raise HostError(f"kernel {kernel.name} belongs to no code object")
        return self.load(kernel.owner).kernels[kernel.name]

    def register(self, kernel: LoadedKernel) -> None:
        """Let packets name a kernel that the host has written to memory itself."""
        self._kernels[kernel.object_address] = kernel

    @property
    def loaded_kernels(self) -> tuple[LoadedKernel, ...]:
        """All, in the order in which they were loaded."""
        return tuple(self._kernels.values())

    @property
    def queues(self) -> tuple[DeviceQueue, ...]:
        """All that were made, destroyed ones included, by their number."""
        return tuple(self._queues)

    def kernel_at(self, address: int) -> LoadedKernel | None:
        """The kernel whose descriptor lies there."""
        return self._kernels.get(address)

    # ------------------------------------------------------------------ signals, events

    def signal(self, value: int = 1) -> Signal:
        """A new user signal in this device's memory."""
        signal = Signal(value)
        self.handle_of(signal)
        return signal

    def handle_of(self, signal: Signal) -> int:
        """Its address; a signal without a device is bound to this one."""
        if not signal.bound:
            signal.bind(self.host, self._signals.allocate(SIGNAL.size))
        elif not signal.belongs_to(self.host):
            raise HostError(f"{signal} belongs to another device")
        return signal.handle

    def create_event(self, signal: Signal | None = None) -> HostEvent:
        """An event, which happens whenever ``signal`` is changed."""
        event = self.events.create()
        if signal is not None:
            self.handle_of(signal)
            signal.notify_by(event.mailbox, event.id)
        return event

    def on_agent_dispatch(self, type: int, handler: Handler) -> None:
        """Have agent-dispatch packets of this type call ``handler`` with their four numbers."""
        self._processor.handlers[type] = handler

    def on_stop(self, handler: OnStop) -> None:
        """Have waves of kernels that are launched from now on stop at ``s_trap 1`` and ``3``;
        ``handler`` is called between two ticks."""

        def stopped(
            group: GroupStart, wave: StoppedWave, trap: int, resume: Callable[[], None]
        ) -> None:
            self._loop.calls.append(lambda: handler(group, wave, trap, resume))

        self._command_processor.on_stop = stopped

    def set_trap_handler(self, base: int, memory: int) -> None:
        """TBA and TMA of kernels launched from now on; `gpu.host.debugging` checks them."""
        self._command_processor.trap_handler = (base, memory)

    def _interrupt(self, message: int) -> None:
        self.events.interrupt(message)

    # ------------------------------------------------------------------ agents beside the GPU

    @property
    def activities(self) -> Activities:
        """The sequences that the device runs beside its units."""
        return self._loop.activities

    def start_task(self, what: str, steps: Steps[T]) -> Task[T]:
        """Begin a sequence of accesses of another agent, which runs whenever the device runs."""
        return Task(what, steps, self._loop, self._errors.append)

    def start_program(self, program: Program, name: str, port: int) -> Task[Any]:
        """Begin a program of a core at a port; see `gpu.host.processors.cpu.Cpu.start`."""
        made = Interpreter(program, name, port, self._loop, self.options.pace.poll)
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
            ("packets", packets, ("1.0", "draft")),
        ):
            if value not in known:
                raise HostError(f"{what} is {known[0]!r} or {known[1]!r}, not {value!r}")
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
            priority=priority,
        )
        if self.options.preempt:
            link.save_area = self._queue_memory.save_area(number, *self.save_area_bytes)
        kind = queue_layout.TYPE_MULTI if producers == "many" else queue_layout.TYPE_SINGLE
        inactive = self.signal(0).handle
        self._queue_memory.write(link, size, kind, features, profiled, inactive)
        return self.adopt(link, on_error)

    @property
    def save_area_bytes(self) -> tuple[int, int]:
        """Of a context save area: header and control stack, and in all."""
        return area_bytes(self.units)

    def adopt(self, link: Connection, on_error: OnError | None = None) -> DeviceQueue:
        """Begin to serve a queue whose memory exists already, and assign its number.

        Raises HostError when all doorbells are taken.
        """
        if len(self._queues) >= DOORBELLS:
            raise HostError(f"there are {DOORBELLS} doorbells; no further queue can be made")
        link.id = len(self._queues)
        apertures = self.options.apertures
        queue = DeviceQueue(self, link, (apertures.shared, apertures.private))
        self._queues.append(queue)
        if on_error is not None:
            self._on_error[link.id] = on_error
        self.map(queue)
        return queue

    def map(self, queue: DeviceQueue) -> None:
        """Serve a queue as soon as there is a slot."""
        self._scheduler.add(queue.link)

    def unmap(self, queue: DeviceQueue) -> None:
        """Run until the queue is idle, or its waves are in its save area, and serve it no longer;
        doorbells are remembered."""
        link = queue.link
        if self._scheduler.serves(link):
            link.gives_way = Event()
            link.changed.fire()
        while link.active and self._scheduler.serves(link) and not link.idle:
            if not self._loop.tick():
                break
        self._scheduler.remove(link)

    def saved(self, queue: DeviceQueue) -> SavedQueue | None:
        """What is in a queue's save area while its waves are off the units."""
        return self._processor.saved(queue.link)

    def _masked(self, mask: int | None) -> tuple[int, ...]:
        """Which units a mask names. Raises HostError for none."""
        count = len(self.units)
        if mask is None:
            return tuple(range(count))
        cus = tuple(cu for cu in range(count) if mask >> cu & 1)
        if not cus:
            raise HostError(f"mask {mask:#x} has none of the {count} compute units")
        return cus

    def set_cu_mask(self, queue: DeviceQueue, mask: int) -> None:
        """For groups that start from now on, of running dispatches as well. Raises HostError."""
        self._processor.set_cus(queue.link, self._masked(mask))

    def inactivate(self, queue: DeviceQueue, why: str = "made inactive by the host") -> None:
        """Stop a queue and end its waves; what was launched completes with an error."""
        if queue.link.active:
            self._processor.inactivate(queue.link, why)
        while queue.link.state is QueueState.ERROR_PENDING:
            if not self._loop.tick():
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
        """Stop a queue; packets that were not taken complete with an error. Frees its memory."""
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

    def _rung(self, address: int, data: bytes) -> None:
        number = (address - self.doorbells) // DOORBELL_BYTES
        if number < len(self._queues):
            self._queues[number].link.rung(data)

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
            self._loop.calls.append(lambda: on_error(queue, error))

    # ------------------------------------------------------------------ time

    @property
    def now(self) -> int:
        """Ticks since the start."""
        return self.memory.now

    def run(self, until: Until | None = None, limit: int | None = None) -> None:
        """Run until a signal is below 1, a program of a processor has ended, a condition holds, or
        nothing more can happen.

        ``limit``: ticks. Raises the error of a queue that became inactive, what a program of a
        processor raised, NoProgressError if ``until`` can never hold. A kernel that waits in vain
        fails, but not while the host or such a program may still act: with a ``limit``, on a
        condition that is a function, between two accesses of a program.
        """
        try:
            self._run(until, limit)
        finally:
            self.printing.collect()

    def _run(self, until: Until | None, limit: int | None) -> None:
        if isinstance(until, Signal):
            self._run_to_signal(until, limit)
            self._raise_error()
            return
        if isinstance(until, Task):
            self._run_to_task(until, limit)
            return
        how = HostWait.FOR_EVER if until is None else HostWait.ON_CONDITION
        with self._loop.host_waits(how if limit is None else HostWait.FOR_A_WHILE):
            self._run_to_condition(until, None if limit is None else self.now + limit)

    def _run_to_condition(self, until: Callable[[], bool] | None, end: int | None) -> None:
        while not (until is not None and until()) and (end is None or self.now < end):
            moved = self._loop.tick(end)
            self._raise_error()
            if not moved:
                if until is not None and not until():
                    raise NoProgressError("the condition", self._loop.waiting)
                return

    def _run_to_signal(self, signal: Signal, limit: int | None) -> None:
        def accept(data: bytes) -> bool:
            return bool(self._errors) or int.from_bytes(data, "little", signed=True) < 1

        where = self.handle_of(signal) + VALUE
        data = self.host.wait(where, accept, limit, f"{signal} < 1")
        if int.from_bytes(data, "little", signed=True) < 0:
            self._end_stopped_queues()

    def _run_to_task(self, task: Task[Any], limit: int | None) -> None:
        how = HostWait.FOR_EVER if limit is None else HostWait.FOR_A_WHILE
        end = None if limit is None else self.now + limit
        with self._loop.host_waits(how):
            moved = self._loop.finish(task.activity, end)
        self._raise_error()
        if not moved:
            raise NoProgressError(str(task), self._loop.waiting)

    def _end_stopped_queues(self) -> None:
        """An error is reported by the signal first and by its queue once its kernels have ended."""
        unheard = [queue for queue in self._queues if queue.link.id not in self._on_error]
        while any(queue.state is QueueState.ERROR_PENDING for queue in unheard):
            if not self._loop.tick():
                return

    def settle(self) -> None:
        """Let memory answer all requests made so far; waves do not run meanwhile."""
        self._loop.settle()

    def _raise_error(self) -> None:
        if self._errors:
            raise self._errors.pop(0)
