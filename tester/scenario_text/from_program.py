"""A leg as a scenario: a failing leg that was made small, for example, to be kept and edited.

Invariant: reading the text again gives a program with the same episodes, accesses and waits, on a
system that is described in the same way; what the text cannot say is refused (NotText).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from runtime.description import SystemDescription
from runtime.prng import initial_byte
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Place
from slicc.scenario_text.name_checks import OPERATIONS
from tester.program.program import (
    ATOMIC,
    BARE,
    CONTINUES,
    FAILS,
    FLUSHES,
    GLC,
    IN_ORDER,
    INSTRUCTION,
    LOAD,
    PLAIN,
    QUIET,
    RACING_LOAD,
    SLC,
    Program,
)
from tester.program.replay_file import Leg
from tester.scenario_text.placement import line_names

_OPERATION_NAMES: Final = {value: name for name, value in OPERATIONS.items()}
_EPISODE_SCOPES: Final = ((GLC, "glc"), (SLC, "slc"))
_ACTION_SCOPES: Final = (*_EPISODE_SCOPES, (INSTRUCTION, "instruction"), (QUIET, "quiet"))
_GONE: Final = object()


class NotText(ValueError):
    """The leg has something that no scenario can say."""


def to_scenario(
    leg: Leg, base: SystemDescription, without: tuple[str, ...] = (), title: str = ""
) -> syntax.Scenario:
    """The scenario of a race-free leg. Raises NotText.

    ``base``: the system of the protocol without those groups of agents, where nothing is set; see
    `tester.litmus.binding.text_of_leg`, which has it.
    """
    program = leg.program
    if (program.action_scope & IN_ORDER).any():
        raise NotText("loads that wait for each other are nothing that a scenario can say")
    names = line_names(_addresses(program), program.line_size)
    rows = _Rows(program, names)
    for episode in range(program.episodes):
        rows.add_episode(episode)
    agents = program.agents
    return syntax.Scenario(
        tuple(syntax.Column(agents[agent].name) for agent in rows.threads),
        tuple(rows.rows),
        locations=tuple(syntax.Location(name, None, line) for line, name in names.items()),
        settings=tuple(_settings(leg.description, base)),
        title=title.replace('"', "'"),
        protocol=None if leg.protocol.path else leg.protocol.name,
        keys=(leg.run_key,),
        delays=(leg.description.network.delays,),
        without=without,
        limit=leg.deadlock_limit,
    )


def _addresses(program: Program) -> list[int]:
    """The addresses of words and accesses, in the order of the program."""
    found: list[int] = []
    for episode in range(program.episodes):
        if program.adds()[episode]:
            found += [int(program.group_word[group]) for _, group in program.groups_of(episode)]
        for action in program.actions_of(episode):
            row = program.lane_address[action]
            found += row[row >= 0].tolist()
    return found


class _Rows:
    """Rows of a scenario, one operation each."""

    def __init__(self, program: Program, names: Mapping[int, str]) -> None:
        self.threads = sorted(set(program.episode_thread.tolist()))
        self.rows: list[tuple[syntax.Step, ...]] = []
        self._program = program
        self._names = names
        self._adds = program.adds()
        self._column = 0

    def add_episode(self, episode: int) -> None:
        program = self._program
        self._column = self.threads.index(int(program.episode_thread[episode]))
        scope = int(program.episode_scope[episode])
        for other, count in program.waits_of(episode):
            self._add(syntax.After(program.agents[other].name, count))
        if scope & RACING_LOAD:
            self._mark("racing loads")
        accesses = list(self._accesses(episode))
        adds = bool(self._adds[episode])
        heads = [access for access in accesses if not access.joins]
        if scope & PLAIN and scope & BARE:
            opening, closing = ("begin", "end") if len(heads) != 1 else ("", "")
        else:
            opening, closing = "acquire", "release"
        if adds:
            self._word(episode, scope & ~QUIET)
        self._mark(opening)
        for access in accesses:
            self._add(access)
        self._mark(closing)
        if scope & FLUSHES:
            self._mark("flush")
        if adds:
            self._word(episode, scope)

    def _add(self, operation: syntax.Operation) -> None:
        self.rows.append((syntax.Step(self._column, operation),))

    def _mark(self, word: str) -> None:
        if word:
            self._add(syntax.Mark(word))

    def _word(self, episode: int, scope: int) -> None:
        program = self._program
        words = tuple(
            (lane, self._place(int(program.group_word[group])))
            for lane, group in program.groups_of(episode)
        )
        scopes = _names(scope, (*_EPISODE_SCOPES, (QUIET, "quiet")))
        self._add(syntax.Add(words, scopes))

    def _place(self, address: int) -> Place:
        line = address // self._program.line_size * self._program.line_size
        return Place(self._names[line], address - line)

    def _accesses(self, episode: int) -> Iterator[syntax.Load | syntax.Store | syntax.Atomic]:
        program = self._program
        rows = program.actions_of(episode)
        for first in rows:
            if program.action_scope[first] & CONTINUES:
                continue
            pieces = [first]
            while pieces[-1] + 1 in rows and program.action_scope[pieces[-1] + 1] & CONTINUES:
                pieces.append(pieces[-1] + 1)
            lanes = np.flatnonzero(program.lane_address[first] >= 0).tolist()
            for number, lane in enumerate(lanes):
                yield self._access(pieces, lane, number > 0)

    def _access(
        self, pieces: list[int], lane: int, joins: bool
    ) -> syntax.Load | syntax.Store | syntax.Atomic:
        program, first = self._program, pieces[0]
        size = sum(int(program.action_size[row]) for row in pieces)
        common: dict[str, Any] = {
            "place": self._place(int(program.lane_address[first, lane])),
            "lane": lane,
            "joins": joins,
            "size": size,
            "scopes": _names(int(program.action_scope[first]), _ACTION_SCOPES),
        }
        kind = int(program.action_kind[first])
        value = self._joined(program.store_value, pieces, lane)
        old = self._joined(program.expected, pieces, lane)
        if kind == LOAD:
            return syntax.Load(**common, result=self._result(pieces, lane, size, old))
        if kind != ATOMIC:
            return syntax.Store(**common, value=value)
        op = int(program.action_op[first])
        name = _OPERATION_NAMES[op & ~FAILS]
        quiet = int(program.action_scope[first]) & QUIET
        return syntax.Atomic(
            **common,
            operation=name,
            operand=value,
            compare=(old ^ bool(op & FAILS)) if name == "cas" else None,
            result=None if quiet else self._result(pieces, lane, size, old),
        )

    def _joined(self, values: Any, pieces: list[int], lane: int) -> int:
        result = shift = 0
        for row in pieces:
            result |= int(values[row, lane]) << shift
            shift += 8 * int(self._program.action_size[row])
        return result

    def _result(self, pieces: list[int], lane: int, size: int, old: int) -> syntax.Result:
        start, key = int(self._program.lane_address[pieces[0], lane]), self._program.run_key
        first = bytes(initial_byte(key, byte) for byte in range(start, start + size))
        return syntax.Result(value=None if int.from_bytes(first, "little") == old else old)


def _names(scope: int, bits: Any) -> frozenset[str]:
    return frozenset(name for bit, name in bits if scope & bit)


# ---------------------------------------------------------------- the system


def _settings(description: SystemDescription, base: SystemDescription) -> Iterator[syntax.Setting]:
    """What makes one description of the other, without delays. Raises NotText."""
    mine, theirs = _leaves(description.to_dict()), _leaves(base.to_dict())
    for path in theirs:
        if path not in mine and path != "network.delays":
            raise NotText(f"{path} is not set in the leg's system")
    for path, value in mine.items():
        if value != theirs.get(path, _GONE) and path != "network.delays":
            yield syntax.Setting(path, _plain(path, value))


def _leaves(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Path -> value, of everything that is no table."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _plain(path: str, value: Any) -> syntax.Value:
    if isinstance(value, Mapping):
        return {name: _plain(path, each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(path, each) for each in value]
    if not isinstance(value, int | str) or (isinstance(value, str) and '"' in value):
        raise NotText(f"{path} = {value!r} is nothing that a scenario can set")
    return value
