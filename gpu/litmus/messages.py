"""What a run of a litmus test did with its lines: accesses, and messages between controllers.

Invariant: a run that is watched ends as the same run does on any engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu.host.device import Device
from gpu.litmus.kernel import Sequences, as_written
from gpu.litmus.scenario import Test
from gpu.litmus.single_run import PREPARATION, Machine, memory_start, open_device, run_instances
from gpu.litmus.situation import LINE, Situation, global_names
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.coherent.recording import HostAccess, Recording
from gpu.memory.interface import Answer, MemoryRequest, PortKind
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import Outcome
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.types.message import Message, kind_field
from runtime.types.messages import MachineType
from runtime.types.values import DataBlock, NetDest
from slicc.text.lazy_dataclass import dataclass

_SHOWN_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Sent:
    """A message to ``receiver``, where it arrives at ``arrival``. Controllers by name: ``TCP1``."""

    tick: int
    arrival: int
    sender: str
    receiver: str
    words: str


@dataclass(frozen=True, slots=True)
class Accessed:
    """``where``: the unit or core. ``words``: what is issued, or answered."""

    tick: int
    where: str
    words: str


@dataclass(slots=True)
class Watched:
    """``names``: what controllers are called in a picture, those that took part."""

    outcome: Outcome
    events: list[Sent | Accessed]
    names: Mapping[str, str]


def watch(
    test: Test,
    situation: Situation,
    instance: int,
    processor: str,
    *,
    sequences: Sequences = as_written,
) -> Watched:
    """The run of this situation, on the Python engine, from the start of its threads; of its lines,
    those of one instance."""
    machine = Machine(engine=EngineChoice.python, processor=processor)
    device = open_device(machine, situation)
    memory = memory_start(machine, bool(situation.cores))
    watcher = _Watcher(device, test, situation.of(instance), memory)
    opencl = test.rules is Rules.opencl
    outcomes = run_instances(
        *(test.program, situation, machine), opencl=opencl, sequences=sequences, device=device
    )
    return Watched(outcomes[instance], watcher.seen, watcher.names())


class _Watcher(Recording):
    """Notes requests and follows their answers. ``memory``: where that of the test is."""

    def __init__(self, device: Device, test: Test, situation: Situation, memory: int) -> None:
        super().__init__()
        coherent = device.memory
        assert isinstance(coherent, CoherentMemory), "the device has caches"
        backend = coherent.backend
        assert isinstance(backend, PythonBackend), "the Python engine was chosen"
        self.seen: list[Sent | Accessed] = []
        self._system = backend.system
        self._kernel = backend.kernel
        self._memory = coherent
        self._situation = situation
        self._test = test
        names = global_names(test.program)
        self._lines = {memory + situation.offsets[name]: name for name in names}
        self._units = {
            port.index: self._cache_of(port.kind, port.number)
            for port in coherent.ports
            if port.kind in (PortKind.VECTOR, PortKind.CPU)
        }
        coherent.recording = self
        self._system.engine.tap = self._sent

    def _cache_of(self, kind: PortKind, number: int) -> str:
        if kind is PortKind.CPU:
            return f"CorePair{number // 2}"
        return self._kernel.vector_cache(number)

    # ------------------------------------------------------------------ events

    def _sent(self, port: str, message: Message, arrival: int) -> None:
        tick = self._system.engine.now
        name = self._lines.get(getattr(message, "addr", -1))
        receivers = getattr(message, "Destination", None)
        if name is None or tick < PREPARATION or not isinstance(receivers, NetDest):
            return
        fields = dict(message.fields())
        words = f"{fields.get(kind_field(message) or '', type(message).__name__)} {name}"
        data = getattr(message, "DataBlk", None)
        if isinstance(data, DataBlock) and "Data" in fields.get("MessageSize", ""):
            words += f" = {_shown(data.data.to_bytes(LINE, 'little'))}"
        for node in receivers.nodes():
            machine = self._system.network.topology.nodes[node]
            receiver = f"{MachineType.name_of(machine.type)}{machine.num}"
            self.seen.append(Sent(tick, arrival, port.partition(".")[0], receiver, words))

    def note(self, tick: int, event: MemoryRequest | HostAccess) -> None:
        if isinstance(event, HostAccess) or tick < PREPARATION:
            return
        where = self._units.get(event.port)
        if where is not None:
            if event.kind == AccessKind.ACQUIRE:
                self.seen.append(Accessed(tick, where, "invalidate"))
            for lane, address in enumerate(event.addresses.tolist()):
                name = self._lines.get(address - address % LINE)
                if name is not None:
                    self._follow(event, lane, where, name, tick)

    def _follow(self, request: MemoryRequest, lane: int, where: str, name: str, tick: int) -> None:
        kind = AccessKind.name_of(request.kind).lower()
        value = ""
        if request.data is not None:
            value = f" = {_shown(bytes(request.data[lane]))}" if kind == "store" else ""
        glc = " glc" if request.glc else ""
        self.seen.append(Accessed(tick, where, f"{kind}{glc} {name}{value}"))
        listener = request.listener

        def answered(answer: Answer) -> None:
            if answer.data is not None:
                got = f"{kind}ed {name}: {_shown(bytes(answer.data[lane]))}"
                self.seen.append(Accessed(answer.tick, where, got))
            elif answer.kind is AnswerKind.PERFORMED:
                self.seen.append(Accessed(answer.tick, where, f"{kind} {name} performed"))
            if listener is not None:
                listener(answer)

        request.listener = answered

    # ------------------------------------------------------------------ names

    def names(self) -> dict[str, str]:
        """The names of the controllers that took part, from threads to memory."""
        parts = {each.where for each in self.seen if isinstance(each, Accessed)}
        for each in self.seen:
            if isinstance(each, Sent):
                parts |= {each.sender, each.receiver}
        return {name: self._called(name) for name in sorted(parts, key=_depth)}

    def _called(self, name: str) -> str:
        threads = [
            thread.name
            for thread in self._test.program.threads
            if self._place_of(thread.position.agent, thread.position.group) == name
        ]
        lines = [
            each
            for address, each in self._lines.items()
            if name == f"TCC{address // LINE % self._situation.tccs}"
        ]
        return " ".join((name, *threads, *lines))

    def _place_of(self, agent: str, group: int) -> str:
        if agent == "cpu":
            return f"CorePair{self._situation.cores[group] // 2}"
        unit = self._situation.groups[group] % self._memory.ports.cus
        return self._kernel.vector_cache(unit)


_ORDER: Final = ("TCP", "TCC", "Directory", "CorePair")


def _depth(name: str) -> tuple[int, str]:
    kind = name.rstrip("0123456789")
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), name)


def _shown(data: bytes) -> str:
    """The value that stands first in them."""
    return str(int.from_bytes(data[:_SHOWN_BYTES], "little"))
