"""A racy scenario as a script that the agents of an exploration follow.

An exploration has locations of 4 bytes and numbers for values; a scenario that has anything else
is refused. Atomic operations act on these numbers, which are then all values up to the largest that
can come of them; operations that no such numbers follow (of bits, subtractions, wrapping counters)
are refused. Invariant: steps, waits and what is read at the end are those of the program that
`gpu-tester litmus` runs, so both judge the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.types.atomic_op import AtomicKind
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Outcome, Term
from tester.errors import ConfigError
from tester.exploration.native_words import THREAD_REGISTERS, THREAD_STEPS
from tester.exploration.small_system import Bounds, SmallSystem, small_system
from tester.litmus.binding import DEFAULT_KEY, Bound, cast_of
from tester.program.program import ATOMIC, IN_ORDER, LOAD, PLAIN, STORE, Program
from tester.scenario_text.placement import places_of
from tester.scenario_text.to_program import Lowered

_BYTES: Final = 4
_LOCATIONS: Final = 4
"""In a line of 16 bytes."""
_NO_REGISTER: Final = 0xFF
_FIRST: Final = 2
"""The number of the first value: tokens stand behind two others."""
_MOST_VALUES: Final = 62
_TAKING: Final = (
    *(AtomicKind.MIN, AtomicKind.MAX, AtomicKind.UMIN, AtomicKind.UMAX),
    *(AtomicKind.EXCHANGE, AtomicKind.CAS),
)
"""Operations after which memory has the old value or the operand."""
_OPERATION: Final = {LOAD: 0, STORE: 1, ATOMIC: 2}
"""By kind of an action: the operation of `tester.exploration.operations`."""


@dataclass(frozen=True)
class Script:
    """``bound``: the scenario on the explored system. ``words``: as the native search takes them.
    ``values``: the numbers of a scenario by their numbers in the search; ``registers``: the terms
    by theirs."""

    bound: Bound
    system: SmallSystem
    words: tuple[int, ...]
    values: tuple[int, ...]
    registers: tuple[Term, ...]

    def outcome(self, registers: Sequence[int]) -> Outcome:
        """What the registers of a search stand for."""
        return {
            term: self.values[number]
            for term, number in zip(self.registers, registers, strict=False)
        }


@dataclass(frozen=True, slots=True)
class _Step:
    kind: int
    where: int
    value: int
    row: int
    overlaps: bool
    way: int
    compare: int
    needs: tuple[tuple[int, int], ...]


def script_of(
    scenario: syntax.Scenario,
    protocol: LoadedProtocol,
    assignments: Sequence[tuple[str, object]],
    *,
    overlap: bool,
    prepares: bool,
) -> Script:
    """``overlap``: whether loads overtake the store before them, in order; ``prepares``: whether
    lines may begin in any cache. Raises ConfigError for what cannot be explored, ScenarioError."""
    if not scenario.racy:
        raise ConfigError("a scenario without conditions has nothing that exploration decides")
    lines, locations = _extent(scenario)
    system = _system(protocol, len(scenario.columns), lines, locations, tuple(assignments))
    bound = Bound(scenario, protocol, system.description, cast_of(protocol, system.description))
    _, lowered = bound.leg(DEFAULT_KEY, overlap=overlap)
    return _script(bound, system, lowered, prepares)


def _extent(scenario: syntax.Scenario) -> tuple[int, int]:
    """Lines, and locations of each: as few as there is room for what the scenario touches."""
    places = list(places_of(scenario))
    reach = max((place.offset // _BYTES + 1 for place in places), default=1)
    if reach > _LOCATIONS:
        raise ConfigError(
            f"the scenario reaches {reach * _BYTES} bytes behind a name: explored lines have "
            f"{_LOCATIONS * _BYTES}"
        )
    return len({place.name for place in places}), reach


def _system(
    protocol: LoadedProtocol,
    threads: int,
    lines: int,
    locations: int,
    assignments: tuple[tuple[str, object], ...],
) -> SmallSystem:
    """The smallest one with a processor for each thread, and with room for all lines in caches."""
    ways = {
        f"machine.{name}.cache.{cache}.ways": 1 << (lines - 1).bit_length()
        for name, machine in protocol.description.machines.items()
        if machine.as_many_as is None
        for cache in machine.caches
    }
    assignments = tuple((ways | dict(assignments)).items())
    for caches in range(1, threads + 1):
        bounds = Bounds(
            caches, lines, locations, operations=("load", "store"), assignments=assignments
        )
        system = small_system(protocol, bounds, symmetry=False)
        if sum(not agent.relaxed for agent in system.agents) >= threads:
            return replace(system, private=frozenset())  # outcomes are judged, not permissions
    raise ConfigError(f"{protocol.identity.name} has no {threads} processors to explore")


def _script(bound: Bound, system: SmallSystem, lowered: Lowered, prepares: bool) -> Script:
    program = lowered.program
    _check(program)
    first_line = {line: n for n, line in enumerate(_lines(program))}
    values = _values(program)
    registers = tuple(lowered.observables)
    if len(registers) > THREAD_REGISTERS:
        raise ConfigError(f"{len(registers)} registers and places, of at most {THREAD_REGISTERS}")
    of_row = {slot.rows[0]: n for n, slot in enumerate(lowered.observables.values())}
    steps = _steps(program, first_line, system.bounds.locations)
    names = [agent.name for agent in program.agents]
    numbers = [names.index(agent.name) for agent in system.agents]
    words = [int(prepares), len(values), len(registers)]
    for number in numbers:
        mine = steps.get(number, [])
        if len(mine) > THREAD_STEPS:
            raise ConfigError(f"{len(mine)} operations of a thread, of at most {THREAD_STEPS}")
        words.append(len(mine))
        for step in mine:
            needs = dict(step.needs)
            adds = step.kind == ATOMIC and step.way == AtomicKind.ADD
            compares = step.kind == ATOMIC and step.way == AtomicKind.CAS
            words += [
                _OPERATION[step.kind],
                step.where,
                step.value if adds else _FIRST + values.index(step.value),
                of_row.get(step.row, _NO_REGISTER),
                int(step.overlaps),
                step.way,
                _FIRST + values.index(step.compare) if compares else 0,
                *(needs.get(other, 0) for other in numbers),
            ]
    idle = set(steps) - set(numbers)
    if idle:
        raise ConfigError(f"{names[min(idle)]} is no agent that exploration knows")
    return Script(bound, system, tuple(words), values, registers)


def _values(program: Program) -> tuple[int, ...]:
    """All that memory may hold. Raises ConfigError if they are too many."""
    atomic = program.action_kind == ATOMIC
    if not atomic.any():
        stored = program.store_value[program.action_kind == STORE, 0].tolist()
        return tuple(dict.fromkeys((0, *stored)))
    adds = atomic & (program.action_op == AtomicKind.ADD)
    cas = atomic & (program.action_op == AtomicKind.CAS)
    added = sum(program.store_value[adds, 0].tolist())
    taken = program.store_value[~adds & (program.action_kind != LOAD), 0].tolist()
    most = max([0, *taken, *program.expected[cas, 0].tolist()]) + added
    if most >= _MOST_VALUES:
        raise ConfigError(
            f"atomic operations may lead to the value {most}: with such operations, values up to "
            f"{_MOST_VALUES - 1} can be explored"
        )
    return tuple(range(most + 1))


def _check(program: Program) -> None:
    """Raises ConfigError for what an exploration of scripts does not know."""
    for row in np.flatnonzero(program.action_kind == ATOMIC).tolist():
        way = int(program.action_op[row])
        if way != AtomicKind.ADD and way not in _TAKING:
            name = AtomicKind.members()[way].lower()
            raise ConfigError(f"atomic operations of kind {name} cannot be explored")
    if (program.action_scope & ~np.uint8(IN_ORDER)).any() or not (
        program.episode_scope & PLAIN
    ).all():
        raise ConfigError("only plain accesses of processors can be explored")
    odd = (program.action_size != _BYTES) | (program.lane_address[:, 0] % _BYTES != 0)
    if odd.any():
        raise ConfigError(
            f"accesses of a size other than {_BYTES} aligned bytes cannot be explored"
        )


def _lines(program: Program) -> list[int]:
    """In the order of their addresses."""
    addresses = program.lane_address[:, 0]
    return sorted({address - address % program.line_size for address in addresses.tolist()})


def _steps(program: Program, lines: dict[int, int], locations: int) -> dict[int, list[_Step]]:
    """By agent of the program. A step needs that many steps of another agent."""
    found: dict[int, list[_Step]] = {}
    ends: dict[int, list[int]] = {}
    for episode in range(program.episodes):
        agent = int(program.episode_thread[episode])
        mine = found.setdefault(agent, [])
        needs = tuple((other, ends[other][count - 1]) for other, count in program.waits_of(episode))
        stored = -1
        for row in program.actions_of(episode):
            address = int(program.lane_address[row, 0])
            line, offset = lines[address - address % program.line_size], address
            where = line * locations + offset % program.line_size // _BYTES
            kind = int(program.action_kind[row])
            overlaps = kind == LOAD and stored not in (-1, where)
            value, compare = int(program.store_value[row, 0]), int(program.expected[row, 0])
            way = int(program.action_op[row])
            mine.append(_Step(kind, where, value, row, overlaps, way, compare, needs))
            if kind == STORE:
                stored = where
        ends.setdefault(agent, []).append(len(mine))
    return found
