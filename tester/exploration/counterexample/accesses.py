"""The accesses of a counterexample as a program without races.

Agents of an exploration race freely, programs must not: where one access does not end before the
other begins, each gets bytes of its own in the same line, and the protocol cannot tell the
difference. Invariant: what a wait of the program demands, the counterexample does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.description import SystemDescription
from runtime.prng import initial_byte
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import IntArray
from tester.execution.handover import agents_of
from tester.exploration.counterexample.followed import Began
from tester.exploration.operations import NAMES, OPERATIONS, Operation, Target
from tester.exploration.small_system import FIRST_ADDRESS, LINE_BYTES, SmallSystem
from tester.generator.config import Abilities
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.expectations import derive
from tester.program.program import (
    ATOMIC,
    ATOMIC_BYTES,
    BARE,
    INACTIVE,
    LOAD,
    PLAIN,
    STORE,
    AgentSpec,
    Program,
)

RUN_KEY: Final = 1
_ACTIONS: Final = {"load": LOAD, "store": STORE, "atomic": ATOMIC, "fetch": LOAD}


class NoProgram(ValueError):
    """The counterexample does what no program can; the message says what."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The load, or fetch-add, whose value was wrong, and which accesses it is judged by: stores
    that were complete before it, or the fetch-adds of other agents on its word."""

    last: Began
    before: tuple[Began, ...]

    @property
    def adds(self) -> bool:
        return self.last.operation.startswith("atomic")

    def __contains__(self, access: Began) -> bool:
        return access is self.last or access in self.before


@dataclass(frozen=True, slots=True)
class Layout:
    """Where accesses lie in a line of a leg: first a byte of each location for each owner, then a
    word for each. The owner behind all agents owns what a judged value is compared with."""

    owners: int
    locations: int

    @property
    def words(self) -> int:
        """Where they begin."""
        return -(-self.owners * self.locations // ATOMIC_BYTES) * ATOMIC_BYTES

    @property
    def line_size(self) -> int:
        """The size of a line with room for all of them."""
        needed = self.words + self.owners * ATOMIC_BYTES
        return max(LINE_BYTES, 1 << (needed - 1).bit_length())


def layout_of(system: SmallSystem) -> Layout:
    return Layout(len(system.agents) + 1, system.bounds.locations)


@dataclass(slots=True)
class _Episode:
    agent: int
    scope: int
    rows: list[tuple[Began, Operation]]
    word: int | None = None
    """The line to whose word it adds, as episodes do at their beginning."""


def program_of(
    system: SmallSystem,
    accesses: Sequence[Began],
    last: Began | None,
    description: SystemDescription,
    abilities: Sequence[Abilities],
) -> Program:
    """``last``: the access whose value was wrong, if one was. ``description``: that of the leg;
    ``abilities``: of its agents. Raises NoProgram."""
    agents, _ = agents_of(description)
    numbers = {agent.name: number for number, agent in enumerate(agents)}
    places = [numbers[agent.name] for agent in system.agents]
    judged = _judged(accesses, last)
    episodes = _episodes(system, accesses, places, abilities, judged)
    program = _arrays(episodes, agents, places, description.line_size, system, judged)
    errors = shape_errors(program) or access_errors(program)
    if errors:
        raise NoProgram(errors[0])
    return derive(program)


def _operation(access: Began) -> Operation:
    return OPERATIONS[NAMES.index(access.operation)]


def _judged(accesses: Sequence[Began], last: Began | None) -> Judged | None:
    """Values are compared with what was complete before: stores in an order of their own. Of
    fetch-adds the tester compares those that race, too, where they open episodes."""
    if last is None:
        return None
    if last.operation.startswith("atomic"):
        adds = [a for a in accesses if (a.where, a.operation) == (last.where, last.operation)]
        latest = {each.agent: each for each in adds}
        return Judged(last, tuple(each for each in latest.values() if each is not last))
    chain: list[Began] = []
    for access in accesses:
        same = access.where == last.where and access.operation.startswith("store")
        follows = not chain or chain[-1].ended <= access.step or chain[-1].agent == access.agent
        complete = access.ended <= last.step or access.agent == last.agent
        if same and follows and complete and access.step < last.step:
            chain.append(access)
    return Judged(last, tuple(chain))


def _episodes(
    system: SmallSystem,
    accesses: Sequence[Began],
    places: Sequence[int],
    abilities: Sequence[Abilities],
    judged: Judged | None,
) -> list[_Episode]:
    """In the order of their beginnings. Of coherent agents each access is one; a relaxed agent's
    last from acquire to acquire, or until what it stored is asked for."""
    found: list[_Episode] = []
    current: dict[int, _Episode] = {}
    for access in accesses:
        operation = _operation(access)
        agent = access.agent
        if operation.target is Target.LINE:
            raise NoProgram("it flushes a line beside its accesses, which no episode does")
        if operation.target is Target.NOTHING:
            current.pop(agent, None)
            continue
        relaxed = system.agents[agent].relaxed
        if judged is not None and access is judged.last:
            for other in judged.before:
                if other.agent != agent:
                    current.pop(other.agent, None)
        if judged is not None and judged.adds and access in judged:
            current.pop(agent, None)
            found.append(_Episode(agent, 0, [], access.where))
            continue
        episode = current.get(agent)
        if episode is None:
            spec = abilities[places[agent]]
            scope = BARE | (PLAIN if spec.plain and not relaxed else 0)
            episode = _Episode(agent, scope, [])
            found.append(episode)
            if relaxed:
                current[agent] = episode
        episode.rows.append((access, operation))
    return found


def _arrays(
    episodes: Sequence[_Episode],
    agents: tuple[AgentSpec, ...],
    places: Sequence[int],
    line_size: int,
    system: SmallSystem,
    judged: Judged | None,
) -> Program:
    lanes = max(agent.lanes for agent in agents)
    rows = [row for episode in episodes for row in episode.rows]
    group = np.full((len(episodes), lanes), INACTIVE, np.int32)
    for number, episode in enumerate(episodes):
        group[number, 0] = 0 if episode.word is None else 1 + episode.word
    address = np.full((len(rows), lanes), INACTIVE, np.int64)
    value = np.zeros((len(rows), lanes), np.uint64)
    kinds = [_ACTIONS[operation.name.partition(".")[0]] for _, operation in rows]
    for number, (access, _) in enumerate(rows):
        address[number, 0] = _place(access, kinds[number], line_size, system, judged)
        if kinds[number] == STORE:
            value[number, 0] = _value(int(address[number, 0]), number)
        elif kinds[number] == ATOMIC:
            value[number, 0] = 1
    adds = [agent.adds for agent in agents]
    scopes = [
        episode.scope if adds[places[episode.agent]] else episode.scope & ~BARE
        for episode in episodes
    ]
    return Program(
        agents,
        RUN_KEY,
        line_size,
        np.array([places[episode.agent] for episode in episodes], np.int32),
        np.cumsum([0, *(len(episode.rows) for episode in episodes)]),
        group,
        _words(system, line_size),
        np.array(kinds, np.uint8),
        np.array([ATOMIC_BYTES if kind == ATOMIC else 1 for kind in kinds], np.uint8),
        address,
        value,
        action_scope=np.array([operation.scope for _, operation in rows], np.uint8),
        action_op=np.array([AtomicKind.ADD if k == ATOMIC else 0 for k in kinds], np.uint8),
        episode_scope=np.array(scopes, np.uint8),
    )


def _words(system: SmallSystem, line_size: int) -> IntArray:
    """One behind all lines, which nothing adds to; then that of each line."""
    layout, lines = layout_of(system), system.bounds.lines
    in_line = layout.words + (layout.owners - 1) * ATOMIC_BYTES
    return FIRST_ADDRESS + np.array(
        [lines * line_size, *(line * line_size + in_line for line in range(lines))]
    )


def _place(
    access: Began, kind: int, line_size: int, system: SmallSystem, judged: Judged | None
) -> int:
    """A byte or word of the agent's own in the access's line; of the judged ones one for all."""
    layout = layout_of(system)
    shared = judged is not None and access in judged
    owner = layout.owners - 1 if shared else access.agent
    if kind == ATOMIC:
        return FIRST_ADDRESS + access.where * line_size + layout.words + owner * ATOMIC_BYTES
    line, location = divmod(access.where, system.bounds.locations)
    return FIRST_ADDRESS + line * line_size + location * layout.owners + owner


def _value(address: int, number: int) -> int:
    """Unlike the one that memory begins with, and unlike other stores'."""
    value = 1 + number % 250
    return value if value != initial_byte(RUN_KEY, address) else value + 3
