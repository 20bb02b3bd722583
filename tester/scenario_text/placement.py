"""Which agents run the threads of a scenario, and which addresses its locations have.

A thread is run by the agent that its column states, else by the agent of its own name; P0, P1 ..
are processors, whichever agents those are. A location without a stated place has a line of its own.
Invariant: no two threads have one agent, and the same text on the same agents has the same
addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Place, terms_of
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.tree_builder import LAST_ADDRESS
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from slicc.text.wording import listed
from tester.generator.config import Abilities
from tester.program.program import AgentSpec

FIRST_LINE: Final = 0x10000
"""Where the first location lies that has no stated place."""
_PROCESSOR: Final = re.compile(r"P(\d{1,3})")
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Cast:
    """The agents of a system, and what a scenario may have them do."""

    agents: tuple[AgentSpec, ...]
    abilities: tuple[Abilities, ...]
    isolation_groups: tuple[int, ...]

    def processors(self) -> list[int]:
        """Agents that are coherent without acquire and release."""
        return [number for number, able in enumerate(self.abilities) if able.plain]


def agents_of_threads(scenario: syntax.Scenario, cast: Cast) -> list[int]:
    """The agent of each column. Raises ScenarioError."""
    numbers = {agent.name: number for number, agent in enumerate(cast.agents)}
    found: list[int] = []
    for column in scenario.columns:
        agent = _agent_of(column, numbers, cast)
        if agent in found:
            other = scenario.columns[found.index(agent)]
            raise ScenarioError(
                "agent",
                f"two threads are run by {cast.agents[agent].name}",
                column.span,
                secondary=[(other.span, "this one as well")],
            )
        found.append(agent)
    return found


def _agent_of(column: syntax.Column, numbers: dict[str, int], cast: Cast) -> int:
    name = column.agent or column.name
    if name in numbers:
        return numbers[name]
    processors = cast.processors()
    match = _PROCESSOR.fullmatch(name)
    if match and int(match[1]) < len(processors):
        return processors[int(match[1])]
    if match:
        what = f"the system has {len(processors)} processors, {name} would be one more"
        raise ScenarioError("agent", what, column.span)
    near = suggest(name, numbers)
    few = list(numbers)[:_SHOWN]
    there = listed(few) + (" ..." if len(numbers) > _SHOWN else "")
    help_ = f"did you mean `{near}`?" if near else f"there are {there}"
    raise ScenarioError("agent", f"the system has no agent {name}", column.span, help=help_)


class Addresses:
    """The address of every place that a scenario mentions."""

    def __init__(self, scenario: syntax.Scenario, line_size: int) -> None:
        self.line_size = line_size
        self._base: dict[str, int] = {}
        for location in scenario.locations:
            base = self._base[location.base] if location.base is not None else 0
            self._base[location.name] = base + location.offset
            if base + location.offset > LAST_ADDRESS:
                what = f"{location.name} lies outside of the addresses up to {LAST_ADDRESS:#x}"
                raise ScenarioError("address", what, location.span)
        reach = _reach(scenario)
        stated = sorted(
            (address, address + reach.get(name, 1)) for name, address in self._base.items()
        )
        free = FIRST_LINE
        for name, length in reach.items():
            if name not in self._base:
                while stated and stated[0][0] < free + length:
                    free = max(free, -(-stated.pop(0)[1] // line_size) * line_size)
                self._base[name] = free
                free += -(-length // line_size) * line_size
        for place in places_of(scenario):
            if self.of(place) > LAST_ADDRESS:
                what = f"{place} lies outside of the addresses up to {LAST_ADDRESS:#x}"
                raise ScenarioError("address", what, place.span)

    def of(self, place: Place) -> int:
        return self._base[place.name] + place.offset

    def free_line(self) -> int:
        """The address of a line behind all that the scenario may touch."""
        return (max(self._base.values(), default=FIRST_LINE) // self.line_size + 256) * (
            self.line_size
        )


def _reach(scenario: syntax.Scenario) -> dict[str, int]:
    """Bytes behind each location that the scenario may touch, in the order of reading."""
    found: dict[str, int] = {}
    for place in places_of(scenario):
        found[place.name] = max(found.get(place.name, 0), place.offset + syntax.DEFAULT_BYTES)
    for step in scenario.steps():
        if isinstance(step.operation, syntax.Access):
            name, end = step.operation.place.name, step.operation.place.offset
            found[name] = max(found[name], end + step.operation.bytes)
    return found


def places_of(scenario: syntax.Scenario) -> Iterator[Place]:
    """All places that are mentioned, in the order of reading."""
    for step in scenario.steps():
        operation = step.operation
        if isinstance(operation, syntax.Access):
            yield operation.place
        elif isinstance(operation, syntax.Add):
            yield from (place for _, place in operation.words)
    for condition in scenario.conditions:
        yield from (term for term in terms_of(condition.formula) if isinstance(term, Place))


def line_names(addresses: Sequence[int], line_size: int) -> dict[int, str]:
    """A, B .. Z, A1 .. for the lines of some addresses, in the order of their first one."""
    names: dict[int, str] = {}
    for address in addresses:
        line = address // line_size * line_size
        if line not in names:
            turn, letter = divmod(len(names), 26)
            names[line] = chr(ord("A") + letter) + (str(turn) if turn else "")
    return names
