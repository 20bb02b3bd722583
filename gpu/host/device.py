"""The device that a host program creates, with the memory and compute units it selects.

Invariant: with the same arguments and the same calls, every run gives the same results in the
same ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.hang_detector import STILL_LIMIT, TIMED_STILL_LIMIT, HangDetector
from gpu.compute_unit.native.ctypes_api import issue_engine_library
from gpu.compute_unit.native.issue_engine import IssueEngine, can_steer
from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.compute_unit.pipeline.arbitration import Policy, oldest_first
from gpu.compute_unit.pipeline.timing_parameters import Timing, TimingError, TlbParameters
from gpu.compute_unit.program.profile import Profile
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.sanitizers.findings import Finding
from gpu.compute_unit.sanitizers.sanitizer import Checks
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.device_limits import MOST_UNITS, why_not_banks
from gpu.dispatch.device_loop import Mover, OneByOne
from gpu.dispatch.launch import ComputeUnit
from gpu.dispatch.occupancy import Limits
from gpu.errors import HostError
from gpu.host.device_core import BareDevice, Options
from gpu.host.dma import Dma
from gpu.host.processes.machine import Stepped
from gpu.host.processes.process import Process
from gpu.host.processors.cpu import Cpu
from gpu.host.topology import Topology, topology
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.recording import Recording
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import Memory
from gpu.trace import Trace
from slicc.text.lazy_dataclass import dataclass

UNITS_PER_SQC: Final = 4
WITH_OTHER_AGENTS: Final = "GPU_VIPER_APU"


class Device(BareDevice):
    """A GPU.

    ``Device(cus=4)`` or ``Device(functional=True)`` has compute units without time on memory
    without caches: the results are right, the ticks mean nothing.
    ``Device("GPU_VIPER", cus=4, tccs=2, seed=7)`` has units with pipelines, whose every access
    goes through the caches of that protocol, with so many banks of the shared cache; ``seed`` is
    of random delays, if the system has any, ``system`` another description of it, ``settings``
    fields to change in it, as in ``{"gpu.lds_cycles": 64}``. ``engine``:
    ``python``, ``native``, or ``auto`` for the native one where it is possible; results and ticks
    are the same. ``memory``: one that is open already, instead of a protocol.

    ``limits``: what a compute unit has. ``timing``: of its pipelines; else what the system's
    description says. ``most_instructions``: wave instructions after which a kernel fails, as does
    one that is found to wait for ever. ``policy``: which wave of a SIMD goes first. ``checks``:
    those of `gpu.compute_unit.sanitizers`, by name; what they find is in `findings`. ``trace``:
    where events are reported. ``record``: keep the requests to memory in `recording`. ``profile``:
    count instructions, stalls and latencies by instruction in `profile`. ``ahead``:
    whether units may run waves ahead of the clock, in part by native code, where that is possible
    (on the native engine, without checks, trace, record, profile, and until there is a process, a
    debugger, a trap handler or a queue whose waves can be taken off); ticks and results are the
    same.

    Raises HostError for an invalid device, DescriptionError for an invalid timing, and
    what `gpu.memory.coherent.factory.load_system` raises for a protocol.
    """

    def __init__(
        self,
        protocol: str | None = None,
        *,
        functional: bool | None = None,
        cus: int = 4,
        tccs: int | None = None,
        seed: int = 0,
        system: Path | None = None,
        settings: Mapping[str, object] | None = None,
        engine: str = "auto",
        memory: Memory | None = None,
        limits: Limits | None = None,
        timing: Timing | None = None,
        options: Options | None = None,
        most_instructions: int | None = None,
        policy: Policy = oldest_first,
        checks: Iterable[str] = (),
        trace: Trace | None = None,
        record: bool = False,
        profile: bool = False,
        ahead: bool = True,
    ) -> None:
        if functional is None:
            functional = protocol is None and memory is None
        if functional + (protocol is not None) + (memory is not None) != 1:
            raise HostError(
                "a device is functional, or runs on a protocol, or on the memory it is given"
            )
        _check_effects(functional, protocol, settings, profile=profile)
        _check_sizes(cus, tccs)
        self.profile = Profile() if profile else None
        """Where the time of its waves goes, if that is counted."""
        self.engine = "no engine"
        """What runs the caches, as text for the user."""
        still = STILL_LIMIT if functional else TIMED_STILL_LIMIT
        hang_detector = HangDetector(still_limit=still, limit=most_instructions)
        self._checks = _checks(checks)
        held = limits or Limits()
        if functional:
            memory = FlatMemory(cus=cus, sqcs=-(-cus // UNITS_PER_SQC))
            made = _functional_units(memory, held, hang_detector, self._checks, trace)
        else:
            if protocol is not None:
                memory, self.engine = _open(protocol, cus, tccs, seed, system, settings, engine)
            assert memory is not None, "one of the three was given"
            if timing is None and isinstance(memory, CoherentMemory):
                timing = _timing(memory.system)
            watched = self._checks is not None or trace is not None or record or profile
            preempts = options is not None and options.preempt
            issuing = _Issuing(memory, timing or Timing(), held, policy, hang_detector)
            made = _timed_units(
                issuing,
                partial(issuing.units_with_the_clock, self._checks, trace, self.profile),
                ahead=ahead and not watched and not preempts,
            )
        self.recording = _recorded(memory) if record else None
        """The requests to memory, if they are recorded."""
        super().__init__(
            memory,
            made.units,
            options or Options(),
            made.mover,
            hang_detector,
            trace,
            waves_per_unit=held.simds * held.waves_per_simd,
            tlb=_tlb(memory),
            stepped=made.stepped,
        )
        described = memory.system if isinstance(memory, CoherentMemory) else None
        self._made_of = (len(made.units), held, described)

    @property
    def runs_ahead(self) -> bool:
        """Whether its units may run waves ahead of the clock now."""
        return any(isinstance(unit, NativeUnit) for unit in self.units)

    @property
    def cpus(self) -> int:
        """Cores of processors beside the GPU, at the same memory."""
        return self.memory.ports.cpus

    def cpu(self, number: int) -> Cpu:
        """A core, from 0. Raises HostError where there is none of that number."""
        self._check_number("CPU", number, self.cpus)
        return Cpu(self, number, self.memory.ports.cpu(number))

    @property
    def dmas(self) -> int:
        """DMA engines at the same memory."""
        return self.memory.ports.dmas

    def dma(self, number: int = 0) -> Dma:
        """A DMA engine, from 0. Raises HostError where there is none of that number."""
        self._check_number("DMA engine", number, self.dmas)
        return Dma(self, number, self.memory.ports.dma(number))

    def create_process(self) -> Process:
        """A process with an address space of its own, one of 8 at a time. Raises HostError."""
        return self._process_table.create(self)

    def _check_number(self, what: str, number: int, count: int) -> None:
        if isinstance(number, int) and 0 <= number < count:
            return
        if count:
            known = f"{what}s 0 to {count - 1}" if count > 1 else f"{what} 0 alone"
            raise HostError(f"there is no {what} {number!r}: the device has {known}")
        name = "memory without caches"
        if isinstance(self.memory, CoherentMemory):
            name = self.memory.system.protocol.name
        raise HostError(f"{name} has no {what}; a device of {WITH_OTHER_AGENTS} has some")

    @property
    def topology(self) -> Topology:
        """Agents, memories and caches, as in D2's table."""
        return topology(*self._made_of, self.processor)

    @property
    def findings(self) -> list[Finding]:
        """What the checks have found so far."""
        return [] if self._checks is None else self._checks.findings

    @property
    def stats(self) -> dict[str, object]:
        """Counters by section: ``packets``, ``compute_units`` for all of them together,
        ``caches``: executions by group of machines, event and state, ``slots``: what turns have
        cost, where slots are limited, and ``tlb``, by port, once there was a process."""
        total = Statistics()
        for unit in self.units:
            if isinstance(unit, TimedUnit | FunctionalUnit | NativeUnit):
                total.add(unit.statistics)
        counters: dict[str, object] = {
            "ticks": self.now,
            "packets": self.packets.as_dict(),
            "compute_units": total.as_dict(),
        }
        if isinstance(self.memory, CoherentMemory):
            counters["caches"] = self.memory.executed()
        if self.options.slots is not None:
            counters["slots"] = asdict(self.machine.scheduler.waits)
        tlbs = self._process_table.counters
        if tlbs is not None:
            counters["tlb"] = tlbs
        return counters


def _check_effects(
    functional: bool,
    protocol: str | None,
    settings: Mapping[str, object] | None,
    *,
    profile: bool,
) -> None:
    """Refuse what would have no effect on such a device."""
    if functional and profile:
        raise HostError("only a device with time has a profile")
    if settings and protocol is None:
        raise HostError(
            f"{', '.join(settings)}: no such field, because only the system of a protocol has "
            "a description"
        )


def _check_sizes(cus: int, tccs: int | None) -> None:
    if not isinstance(cus, int) or not 1 <= cus <= MOST_UNITS:
        raise HostError(f"a device has 1 to {MOST_UNITS} compute units, not {cus!r}")
    why = None if tccs is None else why_not_banks(tccs)
    if why is not None:
        raise HostError(f"a device of {tccs} banks: {why}")


def _recorded(memory: Memory) -> Recording:
    if not isinstance(memory, CoherentMemory):
        raise HostError("only requests to caches can be recorded")
    return memory.record()


@dataclass(frozen=True, slots=True)
class _Made:
    """Units, and what moves them."""

    units: Sequence[ComputeUnit]
    mover: Mover
    stepped: Stepped | None = None
    """Makes the units that replace them where waves may be stopped between instructions."""


@dataclass(frozen=True, slots=True)
class _Issuing:
    """What units that issue at ticks have in common, whether they run ahead or not."""

    memory: Memory
    timing: Timing
    limits: Limits
    policy: Policy
    hang_detector: HangDetector

    def engine(self) -> IssueEngine | None:
        """What runs units ahead of their waves, where that is possible."""
        memory = self.memory
        if not isinstance(memory, CoherentMemory):
            return None
        if not can_steer(memory, self.timing, self.policy, self.limits):
            return None
        library = issue_engine_library()
        if library is None:
            return None
        return IssueEngine(
            library, memory, self.timing, self.limits, self.policy, self.hang_detector
        )

    def units_with_the_clock(
        self, checks: Checks | None, trace: Trace | None, profile: Profile | None
    ) -> list[TimedUnit]:
        """Units that keep to the clock."""
        return [
            TimedUnit(
                cu,
                self.memory,
                self.timing,
                self.limits,
                self.policy,
                self.hang_detector,
                checks,
                trace,
                profile,
            )
            for cu in range(self.memory.ports.cus)
        ]


def _functional_units(
    memory: FlatMemory,
    limits: Limits,
    hang_detector: HangDetector,
    checks: Checks | None,
    trace: Trace | None,
) -> _Made:
    units = [
        FunctionalUnit(cu, memory, limits, hang_detector, checks, trace)
        for cu in range(memory.ports.cus)
    ]
    return _Made(units, OneByOne(memory, units))


def _timed_units(issuing: _Issuing, make: Callable[[], list[TimedUnit]], *, ahead: bool) -> _Made:
    """``make``: those that keep to the clock."""
    issue_engine = issuing.engine() if ahead else None
    if issue_engine is None:
        units = make()
        return _Made(units, OneByOne(issuing.memory, units))
    stepped = partial(_in_place_of, issue_engine.units, issuing.memory, make)
    return _Made(issue_engine.units, issue_engine, stepped)


def _in_place_of(
    ahead: Sequence[NativeUnit], memory: Memory, make: Callable[[], list[TimedUnit]]
) -> tuple[Sequence[ComputeUnit], Mover]:
    """Units that keep to the clock and count on from those that ran ahead of it."""
    units = make()
    for unit, before in zip(units, ahead, strict=True):
        unit.continue_counts(before)
        unit.continue_statistics(before.statistics)
    return units, OneByOne(memory, units)


def _checks(names: Iterable[str]) -> Checks | None:
    """The checks of those names; None for none. Raises HostError."""
    wanted = list(names)
    try:
        return Checks(wanted) if wanted else None
    except ValueError as error:
        raise HostError(str(error)) from None


def _timing(system: KernelSystem) -> Timing:
    """What the description says of the compute units. Raises DescriptionError."""
    try:
        return Timing.from_table(system.timing)
    except TimingError as error:
        origin = system.description.origin
        raise origin.error(("gpu", error.name), error.value, error.why) from None


def _tlb(memory: Memory) -> TlbParameters:
    """What the description says of the TLBs. Raises DescriptionError."""
    if not isinstance(memory, CoherentMemory):
        return TlbParameters()
    origin, table = memory.system.description.origin, memory.system.tlb
    if not isinstance(table, Mapping):
        raise origin.error(("gpu", "tlb"), table, "not a table")
    try:
        return TlbParameters.from_table(table)
    except TimingError as error:
        raise origin.error(("gpu", "tlb", error.name), error.value, error.why) from None


def _open(
    protocol: str,
    cus: int,
    tccs: int | None,
    seed: int,
    system: Path | None,
    settings: Mapping[str, object] | None,
    engine: str,
) -> tuple[Memory, str]:
    """Memory of a protocol, and what runs it, as text for the user."""
    # These compile a protocol: only a device that names one needs them.
    from gpu.memory.coherent.factory import EngineChoice, EngineMissing, choose_engine, load_system

    try:
        choice = EngineChoice(engine)
    except ValueError:
        names = ", ".join(each.value for each in EngineChoice)
        raise HostError(f"no engine {engine!r}; there are {names}") from None
    native = choice is not EngineChoice.python
    loaded = load_system(
        protocol, cus=cus, tccs=tccs, system=system, settings=settings, native=native
    )
    try:
        chosen = choose_engine(loaded, choice, seed)
    except EngineMissing as error:
        raise HostError(str(error)) from None
    return chosen.memory, chosen.words
