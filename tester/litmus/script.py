"""A racy scenario as a script that the agents of an exploration follow.

The bytes of an exploration are then what the scenario stores, so accesses of 1 to 8 bytes may
overlap and atomic operations act on values. Invariant: steps, waits and what is read at the end are
those of the program that `gpu-tester litmus` runs, so both judge the same; what cannot be followed
in every order is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Outcome, Term
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.exploration.native_words import THREAD_REGISTERS, THREAD_STEPS, ActionWord
from tester.exploration.small_system import LINE_BYTES, Bounds, SmallSystem, small_system
from tester.litmus.binding import DEFAULT_KEY, Bound, at_setting, cast_of, check_headings
from tester.program.program import (
    ATOMIC,
    BARE,
    CONTINUES,
    DMA,
    IN_ORDER,
    LOAD,
    PLAIN,
    STORE,
    Program,
)
from tester.scenario_text.placement import Addresses, Cast, places_of
from tester.scenario_text.to_program import Lowered

_BYTES: Final = 4
"""Of a location of an exploration."""
_NO_REGISTER: Final = 0xFF
_OPERATION: Final = {LOAD: 0, STORE: 1, ATOMIC: 2}
"""By kind of an action: the operation of `tester.exploration.operations`."""


@dataclass(frozen=True, slots=True)
class Script:
    """``bound``: the scenario on the explored system. ``words``: as the native search takes them.
    ``registers``: the terms by their numbers in the search."""

    bound: Bound
    system: SmallSystem
    words: tuple[int, ...]
    registers: tuple[Term, ...]

    def outcome(self, registers: Sequence[int]) -> Outcome:
        """What the registers of a search stand for."""
        return dict(zip(self.registers, registers, strict=False))


@dataclass(frozen=True, slots=True)
class _Step:
    """``words``: of `ActionWord`. ``needs``: (agent, steps of it)."""

    words: tuple[int, ...]
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
    check_headings(scenario, protocol)
    lines, locations = _extent(scenario, protocol.description.line_size)
    system = _system(protocol, scenario, lines, locations, assignments)
    bound = Bound(scenario, protocol, system.description, cast_of(protocol, system.description))
    _, lowered = bound.leg(DEFAULT_KEY, overlap=overlap)
    if not scenario.racy:
        raise ConfigError("a scenario without conditions has nothing that exploration decides")
    return _script(bound, system, lowered, prepares)


def _extent(scenario: syntax.Scenario, line_size: int) -> tuple[int, int]:
    """Lines, and locations of each: as few as there is room for what the scenario touches.
    ``line_size``: of the protocol's own system, so that what shares a line there does here."""
    addresses = Addresses(scenario, line_size)
    ranges = [(addresses.of(place), syntax.DEFAULT_BYTES) for place in places_of(scenario)]
    accesses = [step.operation for step in scenario.steps()]
    ranges += [
        (addresses.of(each.place), each.bytes)
        for each in accesses
        if isinstance(each, syntax.Access)
    ]
    reach = max((address % line_size + size for address, size in ranges), default=1)
    if reach > LINE_BYTES:
        raise ConfigError(
            f"the scenario reaches {reach} bytes into a line: explored lines have {LINE_BYTES}"
        )
    return len({address // line_size for address, _ in ranges}), -(-reach // _BYTES)


def _system(
    protocol: LoadedProtocol,
    scenario: syntax.Scenario,
    lines: int,
    locations: int,
    assignments: Sequence[tuple[str, object]],
) -> SmallSystem:
    """The smallest one with a processor for each thread that no engine runs, and with room for all
    lines in caches, but for what is set."""
    ways = {
        f"machine.{name}.cache.{cache}.ways": 1 << (lines - 1).bit_length()
        for name, machine in protocol.description.machines.items()
        if machine.as_many_as is None
        for cache in machine.caches
    }
    stated: dict[str, object] = {**scenario.assignments}

    def small(caches: int, stated: dict[str, object]) -> SmallSystem:
        bounds = Bounds(
            caches,
            lines,
            locations,
            operations=("load", "store"),
            engines=True,
            assignments=tuple((ways | dict(assignments) | stated).items()),
        )
        return small_system(protocol, bounds, symmetry=False)

    for caches in range(1, len(scenario.columns) + 1):
        try:
            system = small(caches, stated)
        except (DescriptionError, ConfigError) as error:
            small(caches, {})  # an error there is none of the text
            raise at_setting(scenario, partial(small, caches), error) from None
        cast = cast_of(protocol, system.description)
        engines = {agent.name for agent in cast.agents if agent.kind == DMA}
        names = [column.agent or column.name for column in scenario.columns]
        threads = sum(name not in engines for name in names)
        if len(cast.processors()) >= threads:
            return _without_idle_engines(system, engines - set(names))
    raise ConfigError(f"{protocol.identity.name} has no {threads} processors to explore")


def _without_idle_engines(system: SmallSystem, idle: set[str]) -> SmallSystem:
    """Outcomes are judged, not permissions."""
    agents = [number for number, agent in enumerate(system.agents) if agent.name not in idle]
    (renaming,) = system.renamings
    first = renaming[: len(renaming) - len(system.agents)]
    return replace(
        system,
        agents=tuple(system.agents[number] for number in agents),
        renamings=((*first, *range(len(agents))),),
        private=frozenset(),
    )


def _script(bound: Bound, system: SmallSystem, lowered: Lowered, prepares: bool) -> Script:
    program = lowered.program
    _check(program, bound.cast)
    registers = tuple(lowered.observables)
    if len(registers) > THREAD_REGISTERS:
        raise ConfigError(f"{len(registers)} registers and places, of at most {THREAD_REGISTERS}")
    of_row = {slot.rows[0]: n for n, slot in enumerate(lowered.observables.values())}
    steps = _steps(program, system.bounds.locations, of_row)
    names = [agent.name for agent in program.agents]
    numbers = [names.index(agent.name) for agent in system.agents]
    words = [int(prepares), len(registers)]
    for number in numbers:
        mine = steps.get(number, [])
        if len(mine) > THREAD_STEPS:
            raise ConfigError(f"{len(mine)} operations of a thread, of at most {THREAD_STEPS}")
        words.append(len(mine))
        for step in mine:
            needs = dict(step.needs)
            words += [*step.words, *(needs.get(other, 0) for other in numbers)]
    idle = set(steps) - set(numbers)
    if idle:
        raise ConfigError(f"{names[min(idle)]} is no agent that exploration knows")
    return Script(bound, system, tuple(words), registers)


def _check(program: Program, cast: Cast) -> None:
    """Raises ConfigError for what an exploration of scripts does not know."""
    if (program.action_scope & np.uint8(CONTINUES)).any():
        raise ConfigError("accesses of more than 8 bytes cannot be explored")
    if (program.action_scope & ~np.uint8(IN_ORDER)).any():
        raise ConfigError("only plain accesses can be explored: no scopes, fetches, quiet ones")
    for episode in range(program.episodes):
        agent = cast.agents[program.episode_thread[episode]]
        scope = int(program.episode_scope[episode])
        if scope & ~BARE != (0 if agent.kind == DMA else PLAIN):
            raise ConfigError(
                f"only single accesses of processors and engines can be explored, not what "
                f"{agent.name} does"
            )
        later = program.action_scope[list(program.actions_of(episode))[1:]]
        if not (later & IN_ORDER).all():
            raise ConfigError(
                f"{agent.name} has several operations under way at once (begin .. end, "
                "acquire .. release): that cannot be explored"
            )


def _steps(program: Program, locations: int, registers: dict[int, int]) -> dict[int, list[_Step]]:
    """By agent of the program. A step needs that many steps of another agent. ``registers``: of
    rows."""
    found: dict[int, list[_Step]] = {}
    ends: dict[int, list[int]] = {}
    addresses = program.lane_address[:, 0]
    lines = np.unique(addresses // LINE_BYTES).tolist()
    for episode in range(program.episodes):
        agent = int(program.episode_thread[episode])
        mine = found.setdefault(agent, [])
        needs = tuple((other, ends[other][count - 1]) for other, count in program.waits_of(episode))
        stored = range(0)
        for row in program.actions_of(episode):
            address, size = int(addresses[row]), int(program.action_size[row])
            offset = address % LINE_BYTES
            line = lines.index(address // LINE_BYTES)
            kind = int(program.action_kind[row])
            alone = not stored or address + size <= stored.start or stored.stop <= address
            words = {
                ActionWord.OPERATION: _OPERATION[kind],
                ActionWord.WHERE: line * locations + offset // _BYTES,
                ActionWord.OFFSET: line * LINE_BYTES + offset,
                ActionWord.SIZE: size,
                ActionWord.VALUE: int(program.store_value[row, 0]),
                ActionWord.REGISTER: registers.get(row, _NO_REGISTER),
                ActionWord.OVERLAP: int(kind == LOAD and bool(stored) and alone),
                ActionWord.WAY: int(program.action_op[row]),
                ActionWord.COMPARE: int(program.expected[row, 0]),
            }
            mine.append(_Step(tuple(words[word] for word in ActionWord), needs))
            if kind == STORE:
                stored = range(address, address + size)
        ends.setdefault(agent, []).append(len(mine))
    return found
