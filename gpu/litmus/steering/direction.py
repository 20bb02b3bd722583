"""A situation in which a run takes the steps of a way through the abstract machine.

Steps stand far enough apart that what one of them causes is over before the next: a thread sleeps
until its operation is due, a request of a unit is delayed on the way to its bank until it is to be
performed. Every line is in a bank of its own, so that no delay holds up another line.

Invariant: a situation depends on the test and the way alone. Whether the run ends as the way does
is seen when it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu.litmus.situation import (
    BANKS,
    CORES,
    CUS,
    LINE,
    SLEEP,
    HeldRequest,
    Situation,
    global_names_of,
)
from gpu.litmus.steering.abstract_machine import Move
from gpu.litmus.steering.search import Way
from gpu.memory_model.program import Program

STEP: Final = 1024
"""Ticks between two steps."""
_ANSWER: Final = 256
"""Ticks from when a request is performed to when its thread or its line goes on, about."""


def directed(program: Program, way: Way) -> Situation:
    """The situation; see `gpu.litmus.situation`."""
    machine, threads = way.machine, program.threads
    cores = sorted({each.position.group for each in threads if each.position.agent == "cpu"})
    timetable = _Timetable(way)
    return Situation(
        tccs=max(BANKS),
        key=0,
        delays="nominal",
        groups=_numbers(machine.placement),
        offsets={name: LINE * at for at, name in enumerate(machine.names)},
        warm={each.name: _warm(way, number) for number, each in enumerate(threads)},
        starts={each.name: 0 for each in threads},
        sleeps={each.name: tuple(timetable.sleeps[n]) for n, each in enumerate(threads)},
        turns=0,
        cores=dict(zip(cores, range(CORES), strict=False)),
        held=tuple(timetable.held),
    )


def _numbers(placement: Mapping[int, int]) -> dict[int, int]:
    """Numbers in the grid, which place groups on units."""
    taken: set[int] = set()
    found: dict[int, int] = {}
    for group, number in placement.items():
        while number in taken:
            number += CUS
        taken.add(number)
        found[group] = number
    return found


def _warm(way: Way, number: int) -> dict[str, int]:
    machine, thread = way.machine, way.machine.program.threads[number]
    if thread.position.agent == "cpu":
        return {}
    unit = machine.placement[thread.position.group]
    used = global_names_of(thread)
    return {name: 1 for name in used if machine.slot(unit, name) in way.warm}


class _Timetable:
    """When each step is due. ``sleeps``: of each thread, before its operations, in units of
    ``s_sleep``. ``held``: requests that are to be performed later than they would be."""

    def __init__(self, way: Way) -> None:
        threads = way.machine.program.threads
        self._way = way
        self.sleeps = [[0] * len(each.operations) for each in threads]
        self.held: list[HeldRequest] = []
        self._clocks = [0] * len(threads)
        """The tick at which each thread is."""
        self._begun: set[tuple[int, int]] = set()
        self._under_way: dict[int, list[tuple[int, int]]] = {}
        """Of each slot: numbers of the requests, counted from 1, and the ticks at which they left.
        What made a line warm was the first."""
        self._counts = dict.fromkeys(way.warm, 1)
        for step, move in enumerate(way.moves, 1):
            self._enter(STEP * step, move)

    def _enter(self, tick: int, move: Move) -> None:
        thread = move.thread
        if move.slot is None:
            if (thread, move.operation) not in self._begun:
                self._begun.add((thread, move.operation))
                late = max(0, tick - self._clocks[thread])
                self.sleeps[thread][move.operation] = late // SLEEP
            self._clocks[thread] = max(self._clocks[thread], tick)
            leaving = self._clocks[thread]
        else:
            self._perform(tick, move.slot)
            leaving = tick + _ANSWER
            if move.continues:
                self._clocks[thread] = leaving
        for slot in move.sends:
            self._counts[slot] = self._counts.get(slot, 0) + 1
            self._under_way.setdefault(slot, []).append((self._counts[slot], leaving))

    def _perform(self, tick: int, slot: int) -> None:
        number, left = self._under_way[slot].pop(0)
        unit, line = divmod(slot, len(self._way.machine.names))
        if tick > left:
            name = self._way.machine.names[line]
            self.held.append(HeldRequest(unit, name, number, tick - left))
