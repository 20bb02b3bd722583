"""From a scenario to the program that runs it.

A race-free scenario becomes a program like any other: what its loads return is derived, and what
the text states is compared with that. A racy one is judged by its conditions: nothing is derived,
and at the end one more agent, in turns by the run key, loads every place that is of interest.
Invariant: the program passes the checks that programs from files pass, or a ScenarioError names the
row at fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from runtime.prng import initial_byte
from runtime.types.atomic_op import AtomicKind
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Place, Register, Term, terms_of
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.name_checks import OPERATIONS, register_of
from slicc.text.lazy_dataclass import dataclass
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.expectations import derive
from tester.program.program import (
    ATOMIC,
    ATOMIC_BYTES,
    BARE,
    CONTINUES,
    FAILS,
    IN_ORDER,
    INACTIVE,
    INSTRUCTION,
    LOAD,
    MAX_ROW_BYTES,
    PLAIN,
    QUIET,
    STORE,
    Program,
)
from tester.scenario_text.episodes import (
    SCOPES,
    AnyAccess,
    Instruction,
    ScenarioEpisode,
    episodes_of,
)
from tester.scenario_text.placement import Addresses, Cast, agents_of_threads
from tester.scenario_text.races import check_races

_ACTION_SCOPES: Final = {**SCOPES, "instruction": INSTRUCTION, "quiet": QUIET}
_SIZES: Final = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a program has a value that a scenario names: bytes of rows, lowest first."""

    rows: tuple[int, ...]
    lane: int


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and where its observables are: registers, then places in the order of their first
    mention."""

    program: Program
    observables: dict[Term, Slot]


def lower(
    scenario: syntax.Scenario, cast: Cast, line_size: int, key: int, *, overlap: bool = False
) -> Lowered:
    """The program of a scenario on a system with these agents. Raises ScenarioError.

    ``overlap``: see `episodes_of`; of racy scenarios only.
    """
    agents = agents_of_threads(scenario, cast)
    addresses = Addresses(scenario, line_size)
    episodes = episodes_of(scenario, agents, cast, overlap=overlap and scenario.racy)
    for episode in episodes:
        for instruction in episode.instructions:
            _check_instruction(instruction, episode, addresses, cast)
    arrays = _Arrays(scenario, episodes, addresses, cast)
    if scenario.racy:
        return _racy(scenario, arrays, agents, key)
    check_races(episodes, addresses, cast)
    return _race_free(scenario, arrays, key)


# ---------------------------------------------------------------- both kinds


def _race_free(scenario: syntax.Scenario, arrays: _Arrays, key: int) -> Lowered:
    derived = derive(_checked(arrays.program(key), scenario))
    for slot, _, access in arrays.made:
        if isinstance(access, syntax.Atomic) and access.compare is not None:
            derived = _with_compare(derived, slot, access.compare)
    for slot, _, access in arrays.made:
        result = access.result if isinstance(access, syntax.Load | syntax.Atomic) else None
        if result is not None and result.register is None:
            _compare(derived, slot, result, access, arrays.addresses)
    program = replace(derived, **_merged_waits(derived, arrays.waits()))
    return Lowered(program, _registers(scenario, arrays))


def _racy(scenario: syntax.Scenario, arrays: _Arrays, agents: Sequence[int], key: int) -> Lowered:
    observables = _registers(scenario, arrays)
    arrays.read_at_end(_places(scenario, arrays), agents, key, observables)
    program = _checked(arrays.program(key), scenario)
    expected = np.zeros(program.lane_address.shape, np.uint64)
    for slot, _, access in arrays.made:
        if isinstance(access, syntax.Atomic) and access.compare is not None:
            expected[slot.rows[0], slot.lane] = access.compare
    waits = _wait_arrays(arrays.waits())
    return Lowered(replace(program, derived=True, expected=expected, **waits), observables)


def _checked(program: Program, scenario: syntax.Scenario) -> Program:
    """What no check of a row has found is reported for the table as a whole."""
    errors = shape_errors(program) or access_errors(program)
    if errors:
        first = scenario.columns[0].span.to(scenario.columns[-1].span)
        raise ScenarioError("program", f"the scenario makes no program: {errors[0]}", first)
    return program


def _registers(scenario: syntax.Scenario, arrays: _Arrays) -> dict[Term, Slot]:
    found: dict[Term, Slot] = {}
    for slot, step, access in arrays.made:
        register = register_of(scenario, step)
        if register is not None:
            if scenario.racy and access.bytes > MAX_ROW_BYTES:
                what = f"a register has {MAX_ROW_BYTES} bytes, the access {access.bytes}"
                raise ScenarioError("value", what, access.span)
            found[register] = slot
    order = [column.name for column in scenario.columns]

    def place(entry: tuple[Term, Slot]) -> tuple[int, int]:
        term, slot = entry
        assert isinstance(term, Register)
        return order.index(term.thread), slot.rows[0]

    return dict(sorted(found.items(), key=place))


def _places(scenario: syntax.Scenario, arrays: _Arrays) -> dict[Place, int]:
    """The places of conditions, then those that are stored to, and the bytes of each; the same in
    whatever order the rows stand."""
    sizes: dict[int, int] = {}
    stored: list[Place] = []
    for _, _, access in arrays.made:
        address = arrays.addresses.of(access.place)
        sizes[address] = max(sizes.get(address, 0), access.bytes)
        if not isinstance(access, syntax.Load):
            stored.append(access.place)
    named = [
        term
        for condition in scenario.conditions
        for term in terms_of(condition.formula)
        if isinstance(term, Place)
    ]
    found: dict[Place, int] = {}
    seen: set[int] = set()
    for places, again in ((named, True), (sorted(stored), False)):
        for place in places:
            address = arrays.addresses.of(place)
            if place not in found and (again or address not in seen):
                seen.add(address)
                size = sizes.get(address, syntax.DEFAULT_BYTES)
                if size <= MAX_ROW_BYTES:
                    found[place] = size
    return found


# ---------------------------------------------------------------- single instructions


def _check_instruction(
    instruction: Instruction, episode: ScenarioEpisode, addresses: Addresses, cast: Cast
) -> None:
    """Raises ScenarioError for what the agent cannot do."""
    spec, able = cast.agents[episode.agent], cast.abilities[episode.agent]
    for step, access in instruction.accesses:

        def refuse(what: str, slug: str = "agent", span: Any = step.span) -> ScenarioError:
            return ScenarioError(slug, what, span)

        if not isinstance(access, syntax.Load) and not spec.stores:
            raise refuse(f"{spec.name} only loads")
        if isinstance(access, syntax.Atomic) and not spec.adds:
            raise refuse(f"{spec.name} makes no atomic operations")
        if access.lane >= spec.lanes:
            lanes = f"{spec.lanes} lane{'s' if spec.lanes > 1 else ''}"
            raise refuse(f"{spec.name} has {lanes}, not one of number {access.lane}", "lane")
        if episode.words and access.lane not in episode.words:
            raise refuse(f"lane {access.lane} makes no fetch-adds in this episode", "lane")
        _check_scopes(access, able.instructions, refuse)
        _check_size(access, able.longest, addresses, refuse)


def _check_scopes(access: AnyAccess, fetches: bool, refuse: Any) -> None:
    if "instruction" in access.scopes and not (fetches and isinstance(access, syntax.Load)):
        raise refuse("this agent makes no instruction fetches, or the access is none")
    if "quiet" in access.scopes and not isinstance(access, syntax.Atomic):
        raise refuse("only atomic operations are quiet")
    if "quiet" in access.scopes and isinstance(access, syntax.Atomic) and access.result:
        raise refuse("a quiet operation returns nothing")


def _check_size(access: AnyAccess, longest: int, addresses: Addresses, refuse: Any) -> None:
    size, address = access.bytes, addresses.of(access.place)
    if isinstance(access, syntax.Atomic):
        if size not in (4, 8) or address % size:
            raise refuse("an atomic operation has 4 or 8 bytes, at a multiple of that", "value")
    elif longest == 0:
        if size not in _SIZES or address % size:
            raise refuse(
                "an access of a wavefront has 1, 2, 4 or 8 bytes, at a multiple of that", "value"
            )
    elif size > longest:
        raise refuse(f"{size} bytes are too many: this agent accesses {longest} at once", "value")
    line = addresses.line_size
    if longest <= 16 and address // line != (address + size - 1) // line:
        raise refuse(f"{access.place} of {size} bytes lies in two lines", "address")


# ---------------------------------------------------------------- arrays


class _Arrays:
    """Episodes as rows; ``made``: where each access of the text is."""

    def __init__(
        self,
        scenario: syntax.Scenario,
        episodes: Sequence[ScenarioEpisode],
        addresses: Addresses,
        cast: Cast,
    ) -> None:
        self.addresses = addresses
        self._cast = cast
        self._lanes = max(agent.lanes for agent in cast.agents)
        self._agents = [episode.agent for episode in episodes]
        self._scopes = [episode.scope for episode in episodes]
        self._columns = {episode.column: episode.agent for episode in episodes}
        self._waits = [
            [(self._columns[column], count) for column, count in episode.waits]
            for episode in episodes
        ]
        self._first = [0]
        self._rows: list[dict[str, Any]] = []
        self.made: list[tuple[Slot, syntax.Step, AnyAccess]] = []
        words: dict[int, int] = {}
        self._groups: list[dict[int, int]] = []
        for episode in episodes:
            groups = {}
            for lane, place in episode.words.items():
                groups[lane] = words.setdefault(addresses.of(place), len(words))
            for instruction in episode.instructions:
                self._add_instruction(instruction)
                for _, access in instruction.accesses:
                    groups.setdefault(access.lane, 0)
            self._groups.append(groups or {0: 0})
            self._first.append(len(self._rows))
        self._words = list(words)

    def _unused_word(self) -> int:
        """For a group that makes no fetch-adds: if possible in a line that is in use anyway."""
        touched = {
            byte
            for row in self._rows
            for start in row["address"]
            if start != INACTIVE
            for byte in range(start, start + row["size"])
        }
        size = self.addresses.line_size
        for line in sorted({byte // size * size for byte in touched}):
            for word in range(line, line + size, ATOMIC_BYTES):
                if touched.isdisjoint(range(word, word + ATOMIC_BYTES)):
                    return word
        return self.addresses.free_line()

    def waits(self) -> list[list[tuple[int, int]]]:
        """(agent, count) that each episode waits for, as the text says."""
        return self._waits

    def _add_instruction(self, instruction: Instruction) -> None:
        head = instruction.accesses[0][1]
        start = len(self._rows)
        pieces = self._pieces(head)
        for number, (offset, size) in enumerate(pieces):
            row = self._row(head, size)
            if number:
                row["scope"] |= CONTINUES
            if instruction.in_order:
                row["scope"] |= IN_ORDER
            for _, access in instruction.accesses:
                row["address"][access.lane] = self.addresses.of(access.place) + offset
                row["value"][access.lane] = self._value(access, offset, size)
            self._rows.append(row)
        rows = tuple(range(start, len(self._rows)))
        self.made += [
            (Slot(rows, access.lane), step, access) for step, access in instruction.accesses
        ]

    def _pieces(self, access: AnyAccess) -> list[tuple[int, int]]:
        """(offset, bytes) of the rows that make up an access."""
        if access.bytes <= MAX_ROW_BYTES and self._in_one_line(access):
            return [(0, access.bytes)]
        address, pieces, offset = self.addresses.of(access.place), [], 0
        while offset < access.bytes:
            left = self.addresses.line_size - (address + offset) % self.addresses.line_size
            size = min(MAX_ROW_BYTES, access.bytes - offset, left)
            pieces.append((offset, size))
            offset += size
        return pieces

    def _in_one_line(self, access: AnyAccess) -> bool:
        address, line = self.addresses.of(access.place), self.addresses.line_size
        return address // line == (address + access.bytes - 1) // line

    def _row(self, access: AnyAccess, size: int) -> dict[str, Any]:
        kind = {syntax.Load: LOAD, syntax.Store: STORE, syntax.Atomic: ATOMIC}[type(access)]
        operation = OPERATIONS[access.operation] if isinstance(access, syntax.Atomic) else 0
        return {
            "kind": kind,
            "size": size,
            "scope": sum(_ACTION_SCOPES[name] for name in access.scopes),
            "op": operation,
            "address": [INACTIVE] * self._lanes,
            "value": [0] * self._lanes,
        }

    def _value(self, access: AnyAccess, offset: int, size: int) -> int:
        if isinstance(access, syntax.Load):
            return 0
        value = access.operand if isinstance(access, syntax.Atomic) else access.value
        return value >> 8 * offset & (1 << 8 * size) - 1

    def read_at_end(
        self,
        places: dict[Place, int],
        agents: Sequence[int],
        key: int,
        observables: dict[Term, Slot],
    ) -> None:
        """One agent loads the places when all others are done."""
        able = self._cast.abilities
        readers = [agent for agent in agents if able[agent].plain] or list(agents)
        reader = readers[key % len(readers)]
        done = {agent: self._agents.count(agent) for agent in agents}
        waits = [(agent, count) for agent, count in done.items() if agent != reader and count]
        bare = BARE if self._cast.agents[reader].adds else 0
        for place, size in places.items():
            self._agents.append(reader)
            self._scopes.append(bare | (PLAIN if able[reader].plain else 0))
            self._waits.append(waits)
            self._groups.append({0: 0})
            load = syntax.Load(place, size=size)
            slot_row = len(self._rows)
            for offset, piece in self._pieces(load):
                row = self._row(load, piece)
                if offset:
                    row["scope"] |= CONTINUES
                row["address"][0] = self.addresses.of(place) + offset
                self._rows.append(row)
            observables[place] = Slot(tuple(range(slot_row, len(self._rows))), 0)
            self._first.append(len(self._rows))

    def program(self, key: int) -> Program:
        groups = np.full((len(self._groups), self._lanes), INACTIVE, np.int32)
        for episode, lanes in enumerate(self._groups):
            for lane, group in lanes.items():
                groups[episode, lane] = group
        rows, shape = self._rows, (len(self._rows), self._lanes)

        def column(name: str) -> list[int]:
            return [row[name] for row in rows]

        return Program(
            self._cast.agents,
            key,
            self.addresses.line_size,
            np.array(self._agents, np.int32),
            np.array(self._first, np.int64),
            groups,
            np.array(self._words or [self._unused_word()], np.int64),
            np.array(column("kind"), np.uint8),
            np.array(column("size"), np.uint8),
            np.array([row["address"] for row in rows], np.int64).reshape(shape),
            np.array([row["value"] for row in rows], np.uint64).reshape(shape),
            np.array(column("scope"), np.uint8),
            np.array(column("op"), np.uint8),
            np.array(self._scopes, np.uint8),
        )


# ---------------------------------------------------------------- values and waits


def value_at(values: Any, slot: Slot, sizes: Any) -> int:
    """The number in a slot of an array of rows and lanes; ``sizes``: bytes of each row."""
    result = shift = 0
    for row in slot.rows:
        result |= int(values[row, slot.lane]) << shift
        shift += 8 * int(sizes[row])
    return result


def _compare(
    program: Program,
    slot: Slot,
    result: syntax.Result,
    access: AnyAccess,
    addresses: Addresses,
) -> None:
    """Raises ScenarioError if the text states another value than the one that is right."""
    right = value_at(program.expected, slot, program.action_size)
    start = addresses.of(access.place)
    places = range(start, start + access.bytes)
    first = int.from_bytes(bytes(initial_byte(program.run_key, b) for b in places), "little")
    stated = first if result.value is None else result.value
    if stated != right:
        shown = "`initial`, what memory holds at first" if right == first else f"{right:#x}"
        written = "`initial`" if result.value is None else f"{stated:#x}"
        what = f"{access.place} returns {shown} here, not {written}"
        raise ScenarioError("value", what, result.span)


def _with_compare(program: Program, slot: Slot, compare: int) -> Program:
    """A cas that compares with another value than the right one is one that is meant to fail."""
    (row,) = slot.rows
    if int(program.expected[row, slot.lane]) == compare:
        return program
    op = program.action_op.copy()
    op[row] = AtomicKind.CAS | FAILS
    return derive(replace(program, derived=False, action_op=op))


def _wait_arrays(waits: Sequence[Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """The arrays of a program for the waits of each of its episodes."""
    flat = [wait for each in waits for wait in each]
    return {
        "wait_first": np.cumsum([0, *map(len, waits)]),
        "wait_thread": np.array([agent for agent, _ in flat], np.int32),
        "wait_count": np.array([count for _, count in flat], np.int32),
        "wait_kind": np.zeros(len(flat), np.uint8),
    }


def _merged_waits(program: Program, stated: Sequence[Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """The waits that follow from conflicts, and those of the text that ask for more."""
    merged = []
    for episode in range(program.episodes):
        waits = dict(program.waits_of(episode))
        for agent, count in stated[episode]:
            waits[agent] = max(count, waits.get(agent, 0))
        merged.append(sorted(waits.items()))
    return _wait_arrays(merged)
