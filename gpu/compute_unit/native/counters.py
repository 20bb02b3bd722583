"""The configuration that the issue engine gets of its units, and the statistics it returns."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Final

from gpu.compute_unit.native.ctypes_api import IssueEngineLibrary
from gpu.compute_unit.native.layout import STALLS, Config, Counts
from gpu.compute_unit.pipeline.arbitration import Policy, round_robin
from gpu.compute_unit.pipeline.simd import cycles_by_pace
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.program.decoded_program import UNITS
from gpu.compute_unit.program.statistics import Statistics
from gpu.dispatch.occupancy import Limits
from gpu.isa.instruction import Unit
from gpu.isa.native.lane_functions import lane_library
from gpu.memory.coherent.coherent_memory import SLICE
from gpu.memory.interface import Ports

NAMES: Final = 1024
"""Mnemonics of memory instructions, at most."""

_TIMING: Final = (
    "fetch_bytes",
    "buffer_bytes",
    "lines_per_cycle",
    "memory_queue",
    "address_cycles",
    "lds_cycles",
    "scalar_memory_cycles",
    "scalar_cycles",
    "message_cycles",
)


def config_of(
    timing: Timing, limits: Limits, policy: Policy, ports: Ports, line_size: int
) -> Config:
    """The configuration of units like these."""
    config = Config(
        units=ports.cus,
        simds=limits.simds,
        vector_alu=UNITS.index(Unit.VECTOR_ALU),
        vector_memory=UNITS.index(Unit.VECTOR_MEMORY),
        names=NAMES,
        round_robin=policy is round_robin,
        slice=SLICE,
        line_bits=line_size.bit_length() - 1,
    )
    for name in _TIMING:
        setattr(config, name, getattr(timing, name))
    for pace, cycles in enumerate(cycles_by_pace(timing)):
        config.cycles[pace] = cycles
    for unit in range(ports.cus):
        config.vector_ports[unit] = ports.vector(unit)
        config.scalar_ports[unit] = ports.scalar(unit)
        config.fetch_ports[unit] = ports.fetch(unit)
    library = lane_library()
    if library is not None:
        config.perform, config.complete = library.perform, library.complete
    return config


def statistics_of(
    library: IssueEngineLibrary, engine: int, unit: int, names: Mapping[str, int]
) -> Statistics:
    """``names``: numbers of memory instructions, as their records have them."""
    counts = Counts()
    library.counts(engine, unit, counts)
    statistics = Statistics(by_unit=counts.by_unit[: len(UNITS)])
    memory = _table(library, engine, unit, False)
    for name, number in names.items():
        if memory[number]:
            statistics.memory[name] = memory[number]
    for lines, count in enumerate(_table(library, engine, unit, True)):
        if count:
            statistics.lines[lines] = count
    for reason, cycles, times in zip(STALLS, counts.stalls, counts.stalled, strict=True):
        if times:
            statistics.stalls[reason] = cycles
    statistics.bank_cycles = counts.bank_cycles
    statistics.bank_conflicts = counts.bank_conflicts
    statistics.fetches = counts.fetches
    return statistics


def _table(library: IssueEngineLibrary, engine: int, unit: int, lines: bool) -> list[int]:
    room = library.table(engine, unit, lines, None, 0)
    table = (ctypes.c_uint64 * room)()
    library.table(engine, unit, lines, ctypes.addressof(table), room)
    return list(table)
