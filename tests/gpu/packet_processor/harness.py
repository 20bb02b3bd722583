"""A device with fake compute units on flat memory, and a kernel to name in packets."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.code_object import LoadedKernel
from gpu.dispatch.device_loop import OneByOne
from gpu.dispatch.launch import Fault, GroupStart
from gpu.dispatch.occupancy import Limits
from gpu.host.device_core import BareDevice, Options
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.fake_unit import FakeUnit

VADD = "vadd"


@dataclass
class Bench:
    """``ticks``: how long a packet's groups run, by packet id. ``faults``: packet ids that fail.
    ``actions``: what a packet's groups do when they end."""

    cus: int = 2
    limits: Limits = field(default_factory=Limits)
    options: Options = field(default_factory=Options)
    ticks: dict[int, int] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    log: list[tuple[str, int, GroupStart]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = FlatMemory(cus=self.cus)
        self.units = [
            FakeUnit(cu, self.memory, self.log, self._ticks, self._act, self.limits)
            for cu in range(self.cus)
        ]
        self.device = BareDevice(
            self.memory, self.units, self.options, OneByOne(self.memory, self.units)
        )
        self.code = stored("vadd")

    def _ticks(self, group: GroupStart) -> int:
        return self.ticks.get(group.packet, 10)

    def _act(self, group: GroupStart) -> None:
        if group.packet in self.faults:
            raise Fault(self.faults[group.packet], group)

    def kernel(self, name: str = VADD) -> LoadedKernel:
        return self.device.load(self.code)[name]

    def events(self, event: str) -> list[tuple[int, tuple[int, int, int]]]:
        """(packet, group id) in order."""
        return [(group.packet, group.id) for kind, _, group in self.log if kind == event]

    def tick_of(self, event: str, packet: int) -> int:
        """When the first (start) or last (end) group of a packet did that."""
        ticks = [tick for kind, tick, group in self.log if (kind, group.packet) == (event, packet)]
        return min(ticks) if event == "start" else max(ticks)
