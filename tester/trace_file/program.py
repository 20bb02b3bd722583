"""From the requests of a trace to a program.

The ticks give the total order of the requests; an agent issues its next one as soon as it may.
Requests of two agents to one byte, of which one stores, are handed over like those of any program,
so every loaded byte is checked. What is stored is drawn from the number of the row. An agent that
is coherent without acquire and release has an episode for each request; of a wavefront, an episode
goes from one hand-over to the next. Invariant: the program passes the checks of programs from
files, or a TraceError names the row at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

import numpy as np

from runtime.prng import hash64
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from slicc.text.wording import listed
from tester.generator.config import Abilities
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.expectations import derive
from tester.program.program import (
    ATOMIC,
    BARE,
    CONTINUES,
    INACTIVE,
    INSTRUCTION,
    LOAD,
    MAX_ROW_BYTES,
    PLAIN,
    STORE,
    AgentSpec,
    Program,
)
from tester.trace_file.reader import TraceError, TraceRow

MOST_CELLS: Final = 1 << 24
"""Rows times lanes of a program."""
_LONGEST_EPISODE: Final = 64
_SHOWN: Final = 12


@dataclass(slots=True)
class _Episode:
    agent: int
    rows: list[TraceRow] = field(default_factory=list)


def program_of(
    rows: Sequence[TraceRow],
    agents: Sequence[AgentSpec],
    abilities: Sequence[Abilities],
    line_size: int,
    run_key: int,
    file: Path,
) -> Program:
    """The program that makes these requests. Raises TraceError."""
    numbers = _numbers(rows, agents, file)
    for row in rows:
        number = numbers[row.agent]
        _check(row, agents[number], abilities[number], line_size, file)
    episodes = _episodes(rows, numbers, abilities)
    program = _program(episodes, agents, abilities, line_size, run_key, file)
    errors = shape_errors(program) or access_errors(program)
    if errors:
        raise TraceError(file, 1, f"it makes no program: {errors[0]}")
    return derive(program)


def _numbers(rows: Iterable[TraceRow], agents: Sequence[AgentSpec], file: Path) -> dict[str, int]:
    """Agents by what the trace calls them: by their names, or by their numbers."""
    known = {agent.name: number for number, agent in enumerate(agents)}
    found: dict[str, int] = {}
    for row in rows:
        name = row.agent
        if name in found:
            continue
        if name in known:
            found[name] = known[name]
        elif name.isascii() and name.isdecimal() and len(name) < 6 and int(name) < len(agents):
            found[name] = int(name)
        else:
            near = suggest(name, known)
            few = listed([*known][:_SHOWN]) + (" ..." if len(known) > _SHOWN else "")
            help_ = (
                f"did you mean {near}?" if near else f"there are {few}, and their numbers from 0"
            )
            raise TraceError(file, row.line, f"the system has no agent {name[:80]!r}; {help_}")
    return found


def _check(row: TraceRow, spec: AgentSpec, able: Abilities, line_size: int, file: Path) -> None:
    """Whether the agent can make the request at all. Raises TraceError."""

    def refuse(what: str) -> TraceError:
        return TraceError(file, row.line, f"{row.bytes} bytes at {row.address:#x}: {what}")

    if row.kind != LOAD and not spec.stores:
        raise refuse(f"{spec.name} only loads")
    if row.fetches and not able.instructions:
        raise refuse(f"{spec.name} makes no instruction fetches")
    if row.kind == ATOMIC:
        if not spec.adds:
            raise refuse(f"{spec.name} makes no atomic operations")
        if row.bytes not in (4, 8) or row.address % row.bytes:
            raise refuse("an atomic operation has 4 or 8 bytes, at a multiple of that")
    elif not able.longest:
        if row.bytes not in (1, 2, 4, 8) or row.address % row.bytes:
            raise refuse("a wavefront accesses 1, 2, 4 or 8 bytes, at a multiple of that")
    elif row.bytes > able.longest:
        raise refuse(f"{spec.name} accesses at most {able.longest} at once")
    last = row.address + row.bytes - 1
    if able.longest <= 16 and row.address // line_size != last // line_size:
        raise refuse(f"it lies in two lines of {line_size} bytes")


# ---------------------------------------------------------------- episodes


def _episodes(
    rows: Iterable[TraceRow], numbers: dict[str, int], abilities: Sequence[Abilities]
) -> list[_Episode]:
    """In their total order: that in which they end."""
    found: list[_Episode] = []
    under_way = _UnderWay(found)
    for row in rows:
        agent = numbers[row.agent]
        under_way.make_way(row, agent)
        if abilities[agent].plain or abilities[agent].longest:
            found.append(_Episode(agent, [row]))
        else:
            under_way.add(row, agent)
    under_way.end_all()
    return found


class _UnderWay:
    """Episodes of wavefronts that go on, and the bytes that they use."""

    def __init__(self, found: list[_Episode]) -> None:
        self._found = found
        self._open: dict[int, _Episode] = {}
        self._users: dict[int, dict[int, bool]] = {}
        """By byte: who uses it, and whether it stores."""

    def make_way(self, row: TraceRow, agent: int) -> None:
        """What a request conflicts with ends before it, and so does what its agent did before: one
        of two episodes is complete before the other."""
        stores = row.kind != LOAD
        others = {
            other: None
            for byte in range(row.address, row.address + row.bytes)
            for other, stored in self._users.get(byte, {}).items()
            if other != agent and (stores or stored)
        }
        for other in (*others, *([agent] if others else [])):
            self._end(other)

    def add(self, row: TraceRow, agent: int) -> None:
        """A request of a wavefront."""
        episode = self._open.setdefault(agent, _Episode(agent))
        episode.rows.append(row)
        for byte in range(row.address, row.address + row.bytes):
            users = self._users.setdefault(byte, {})
            users[agent] = users.get(agent, False) or row.kind != LOAD
        if len(episode.rows) == _LONGEST_EPISODE:
            self._end(agent)

    def end_all(self) -> None:
        for agent in sorted(self._open):
            self._end(agent)

    def _end(self, agent: int) -> None:
        episode = self._open.pop(agent, None)
        if episode is None:
            return
        self._found.append(episode)
        for row in episode.rows:
            for byte in range(row.address, row.address + row.bytes):
                self._users.get(byte, {}).pop(agent, None)


# ---------------------------------------------------------------- arrays


def _program(
    episodes: Sequence[_Episode],
    agents: Sequence[AgentSpec],
    abilities: Sequence[Abilities],
    line_size: int,
    run_key: int,
    file: Path,
) -> Program:
    lanes = max(agent.lanes for agent in agents)
    pieces = [
        (row, offset, size)
        for episode in episodes
        for row in episode.rows
        for offset, size in _pieces(row, line_size)
    ]
    if len(pieces) * lanes > MOST_CELLS:
        what = f"{len(pieces):,} accesses of agents with {lanes} lanes are too many"
        raise TraceError(file, 1, f"{what}: {MOST_CELLS // lanes:,} are possible")
    counts = [sum(len(_pieces(row, line_size)) for row in episode.rows) for episode in episodes]
    address = np.full((len(pieces), lanes), INACTIVE, np.int64)
    address[:, 0] = [row.address + offset for row, offset, _ in pieces]
    value = np.zeros((len(pieces), lanes), np.uint64)
    value[:, 0] = [_value(row, offset, size) for row, offset, size in pieces]
    group = np.full((len(episodes), lanes), INACTIVE, np.int32)
    group[:, 0] = 0
    beyond = max(row.address + row.bytes for row, _, _ in pieces)
    return Program(
        agents=tuple(agents),
        run_key=run_key,
        line_size=line_size,
        episode_thread=np.array([episode.agent for episode in episodes], np.int32),
        episode_first_action=np.cumsum([0, *counts]),
        episode_group=group,
        episode_scope=np.array([_scope(e.agent, agents, abilities) for e in episodes], np.uint8),
        group_word=np.array([-(-beyond // line_size) * line_size]),  # unused
        action_kind=np.array([row.kind for row, _, _ in pieces], np.uint8),
        action_size=np.array([size for _, _, size in pieces], np.uint8),
        action_scope=np.array(
            [
                (CONTINUES if offset else 0) | (INSTRUCTION if row.fetches else 0)
                for row, offset, _ in pieces
            ],
            np.uint8,
        ),
        lane_address=address,
        store_value=value,
    )


def _scope(agent: int, agents: Sequence[AgentSpec], abilities: Sequence[Abilities]) -> int:
    bare = BARE if agents[agent].adds else 0
    return bare | (PLAIN if abilities[agent].plain else 0)


def _pieces(row: TraceRow, line_size: int) -> list[tuple[int, int]]:
    """(offset, bytes) of the rows of a program that make up a request."""
    pieces, offset = [], 0
    while offset < row.bytes:
        left = line_size - (row.address + offset) % line_size
        size = min(MAX_ROW_BYTES, row.bytes - offset, left)
        pieces.append((offset, size))
        offset += size
    return pieces


def _value(row: TraceRow, offset: int, size: int) -> int:
    """What is stored, different for every row; an atomic operation adds 1."""
    if row.kind == STORE:
        return hash64(row.line, offset) & ((1 << 8 * size) - 1)
    return 1 if row.kind == ATOMIC else 0
