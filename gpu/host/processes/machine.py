"""What all processes of a device share: memory, compute units, the loop, the slots of queues.

Invariant: a queue is served by the packet processor of its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpu.code_object import DEFAULT_PROCESSOR, RUNNABLE, CodeObject
from gpu.dispatch.device_loop import Loop, Mover
from gpu.dispatch.dispatcher import Dispatcher
from gpu.dispatch.launch import ComputeUnit
from gpu.errors import HostError
from gpu.generation import Generation
from gpu.host.processes.options import Options
from gpu.host_wait import WaitObserver
from gpu.hsa.activities import Activities, Activity
from gpu.hsa.queue_state import Connection, QueueKind
from gpu.memory.interface import Memory
from gpu.packet_processor.command_processor import CommandProcessor, Kernels, ScratchLimits
from gpu.packet_processor.commands.command_service import CommandService, Language
from gpu.packet_processor.commands.pm4 import Pm4
from gpu.packet_processor.commands.sdma import Sdma
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.fences import Fences
from gpu.packet_processor.packet_log import PacketLog, Report
from gpu.packet_processor.packet_processor import Callbacks, PacketProcessor
from gpu.packet_processor.queue_scheduler import IN_FLIGHT, Scheduler
from gpu.trace import Trace

Stepped = Callable[[], tuple[Sequence[ComputeUnit], Mover]]
"""Makes units that keep to the clock, in place of those that a device has, which are idle."""


class Machine:
    """``units``: all compute units, in the order of their index. ``mover``: what lets them and
    memory run. ``trace``: notified of packets. ``waves_per_unit``: what a unit holds at once.
    ``stepped``: None where units keep to the clock from the start."""

    def __init__(
        self,
        memory: Memory,
        units: Sequence[ComputeUnit],
        options: Options,
        mover: Mover,
        observer: WaitObserver,
        trace: Trace | None,
        waves_per_unit: int,
        stepped: Stepped | None = None,
    ) -> None:
        self.memory = memory
        self.units = list(units)
        self._stepped = stepped
        self.options = options
        self.waves_per_unit = waves_per_unit
        self.activities = Activities(memory)
        self.activities.on_news = observer.progress
        self.dispatcher = Dispatcher(
            self.units, lambda: memory.now, options.placement, options.dispatch_rate
        )
        self.loop = Loop(memory, self.activities, self.dispatcher, self.units, mover, observer)
        self.packets = PacketLog(self._reporter(trace))
        self.processors: dict[int, PacketProcessor] = {}
        """By VMID."""
        self.scheduler = Scheduler(self.activities, self, options.slots, options.quantum)
        self._processor: str | None = None

    def _reporter(self, trace: Trace | None) -> Report | None:
        if trace is None or not trace.packets:
            return None
        return lambda who, text: trace.line(self.memory.now, who, text)

    def need_the_clock(self, for_what: str) -> None:
        """`keep_to_the_clock`. Raises HostError where that is not possible now."""
        if not self.keep_to_the_clock():
            raise HostError(
                f"waves are resident on units that run ahead of the clock, which have no "
                f"{for_what}: begin before kernels run, or with Device(ahead=False)"
            )

    def keep_to_the_clock(self) -> bool:
        """Have units whose waves can stop, be taken off and have addresses of a process, in place
        of units that run ahead of the clock; False while waves of those are resident. Ticks and
        counters are the same as if the units had been these from the start."""
        if self._stepped is None:
            return True
        if not all(unit.idle for unit in self.units):
            return False
        self.loop.settle()
        self.units[:], self.loop.mover = self._stepped()
        self._stepped = None
        return True

    def connect(self, link: Connection) -> Activity:
        """Begin to serve a queue."""
        return self.processors[link.vmid].connect(link)

    # ------------------------------------------------------------------ what code it runs

    @property
    def processor(self) -> str:
        """What its code was compiled for, gfx803 before any is loaded."""
        return self._processor or DEFAULT_PROCESSOR

    def check_processor(self, code_object: CodeObject) -> None:
        """A device runs code of one processor. Raises HostError for that of another."""
        name = code_object.target.processor
        if name not in RUNNABLE:
            return
        if self._processor is not None and name != self._processor:
            raise HostError(
                f"{code_object.path}: compiled for {name}; this device has loaded code for "
                f"{self.processor} and runs no other"
            )

    def note_processor(self, code_object: CodeObject) -> None:
        """Code was loaded that passes the check."""
        if code_object.target.processor in RUNNABLE:
            self._processor = code_object.target.processor

    # ------------------------------------------------------------------ front ends

    def command_processor(
        self, control: ControlPort, fences: Fences, kernels: Kernels, hidden_base: int
    ) -> CommandProcessor:
        """What launches kernels of one process."""
        limits = ScratchLimits(len(self.units) * self.waves_per_unit)
        apertures = replace(self.options.apertures, hidden_base=hidden_base)
        return CommandProcessor(control, self.dispatcher, fences, kernels, apertures, limits)

    def packet_processor(
        self,
        control: ControlPort,
        command_processor: CommandProcessor,
        fences: Fences,
        callbacks: Callbacks,
    ) -> PacketProcessor:
        """What serves the queues of one process: of packets and of commands."""
        options = self.options
        processor = PacketProcessor(
            control,
            command_processor,
            self.dispatcher,
            fences,
            callbacks,
            options.pace,
            None if options.slots is None else IN_FLIGHT,
        )
        pace, interrupt = options.pace, callbacks.interrupt
        languages: dict[QueueKind, Language] = {
            QueueKind.PM4: Pm4(control, fences, interrupt, pace.poll),
            QueueKind.SDMA: Sdma(
                control,
                [control.at(port) for port in self.memory.ports.engines],
                lambda: RUNNABLE[self.processor] is Generation.GFX9,
                interrupt,
                pace.poll,
            ),
        }
        for kind, language in languages.items():
            service = CommandService(control, language, self.packets, processor.stop, pace.packet)
            processor.services[kind] = service.serve
        return processor
