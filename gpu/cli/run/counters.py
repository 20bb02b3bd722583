"""Counters of all compute units of a device, summed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Final

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.compute_unit.wave.resident_groups import Residents
from gpu.host.device_core import BareDevice
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.interface import Memory
from slicc.text.lazy_dataclass import dataclass

_WIDTH: Final = 100
_NAMES: Final = 14


@dataclass(frozen=True, slots=True)
class Work:
    """Groups and waves that were started, and wave instructions."""

    groups: int
    waves: int
    instructions: int

    def __str__(self) -> str:
        counts = (
            (self.groups, "group"),
            (self.waves, "wave"),
            (self.instructions, "wave instruction"),
        )
        return ", ".join(f"{number:,} {noun}{'s' * (number != 1)}" for number, noun in counts)


def work_of(device: BareDevice) -> Work:
    """What all units together have done."""
    groups = waves = instructions = 0
    for unit in device.units:
        if isinstance(unit, Residents):
            groups += unit.groups_started
            waves += unit.waves_started
        if isinstance(unit, FunctionalUnit):
            instructions += unit.executed
        elif isinstance(unit, TimedUnit | NativeUnit):
            instructions += unit.statistics.executed
    return Work(groups, waves, instructions)


def line_about_lds(device: BareDevice) -> str | None:
    """What lanes did beyond the LDS of their groups, which hardware lets pass without a word."""
    lanes = sum(
        unit.statistics.lds_out_of_range
        for unit in device.units
        if isinstance(unit, FunctionalUnit | TimedUnit | NativeUnit)
    )
    if not lanes:
        return None
    accesses = "access of a lane was" if lanes == 1 else "accesses of lanes were"
    return f"{lanes:,} {accesses} beyond the LDS of the group: loads gave 0, stores were dropped"


def progress_line(device: BareDevice) -> Callable[[], str]:
    """A line for people about how far a run is that starts now."""
    started = time.monotonic()

    def line() -> str:
        work = work_of(device)
        rate = work.instructions / max(1e-9, time.monotonic() - started)
        return f"{work} ({rate:,.0f}/s), tick {device.now:,}"

    return line


def lines_about_caches(memory: Memory) -> Iterator[str]:
    """By group of machines: how often each event occurred in each state; nothing without caches."""
    if not isinstance(memory, CoherentMemory):
        return
    for group, by_event in memory.executed().items():
        words = "; ".join(
            f"{event} " + ", ".join(f"{times:,} in {state}" for state, times in by_state.items())
            for event, by_state in by_event.items()
        )
        indent = " " * (_NAMES + 2)
        yield "\n".join(
            wrap(words, _WIDTH, initial_indent=f"  {group:<{_NAMES}}", subsequent_indent=indent)
        )
