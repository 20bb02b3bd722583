"""Ways to make the system of a leg simpler: fewer machines, waves and lanes, simpler delays.

A leg holds the completed description, in which sizes that follow from counts are filled in. The
protocol's own description is therefore completed twice, with the counts of before and of after:
what the leg has as the first one says becomes what the second one says, and everything else stays.
Agents keep their place on their ports, ports in use move together, and so do lanes in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import complete
from runtime.system.system import agent_places
from tester.campaign.campaign import agents_of, outline
from tester.errors import ConfigError
from tester.program.program import INACTIVE, Program
from tester.program.replay_file import Leg
from tester.scenario.machine_roles import find_roles

_SIMPLER_DELAYS: Final = ("nominal", "uniform")

Change = Callable[[Leg], Leg | None]
"""A leg in a simpler system, its program moved there; None: it has nothing of the kind."""


def smaller_systems(protocol: LoadedProtocol) -> Iterator[Change]:
    """All changes, those that save most first."""
    for delays in _SIMPLER_DELAYS:
        yield partial(_delayed, delays)
    yield partial(_resized, protocol, _used_only)
    for role in ("second", "private", "directories", "processors", "dmas", "fetchers", "scalars"):
        yield partial(_resized, protocol, partial(_one_each, protocol, role))


def _delayed(delays: str, leg: Leg) -> Leg | None:
    now = leg.description.network.delays
    if now in _SIMPLER_DELAYS[: _SIMPLER_DELAYS.index(delays) + 1]:
        return None
    return replace(leg, description=leg.description.override({"network.delays": delays}))


# ------------------------------------------------------------------ counts


@dataclass(frozen=True)
class _Place:
    """Where an agent is: its group, the machine of its port, which of them, which wave there."""

    group: str
    machine: str
    instance: int
    wavefront: int


def _places(description: SystemDescription) -> list[_Place]:
    first: dict[str, int] = {}
    total = 0
    for name, requester in description.requesters.items():
        first[name] = total
        total += description.machines[requester.machine].count or 0
    found: list[_Place] = []
    waves: dict[tuple[str, int], int] = {}
    for place in agent_places(description):
        port = description.agents[place.group].requester
        machine = description.requesters[port].machine
        at = place.group, place.requester - first[port]
        found.append(_Place(place.group, machine, at[1], waves.get(at, 0)))
        waves[at] = found[-1].wavefront + 1
    return found


def _moved(leg: Leg) -> tuple[dict[int, _Place], dict[str, int]]:
    """Where the agents with episodes go when they move together; lanes that groups then need."""
    places, program = _places(leg.description), leg.program
    used = [int(agent) for agent in np.unique(program.episode_thread)]
    instances: dict[str, list[int]] = {}
    for agent in used:
        at = places[agent]
        if at.instance not in instances.setdefault(at.machine, []):
            instances[at.machine].append(at.instance)
    waves: dict[tuple[str, int], int] = {}
    moved: dict[int, _Place] = {}
    lanes: dict[str, int] = {}
    width = (program.episode_group >= 0).sum(axis=1)
    for agent in used:
        at = places[agent]
        instance = sorted(instances[at.machine]).index(at.instance)
        wave = waves.get((at.group, instance), 0)
        waves[at.group, instance] = wave + 1
        moved[agent] = _Place(at.group, at.machine, instance, wave)
        mine = int(width[program.episode_thread == agent].max())
        lanes[at.group] = max(mine, lanes.get(at.group, 1))
    return moved, lanes


def _used_only(leg: Leg) -> dict[str, object]:
    """As many machines, waves and lanes as the program uses."""
    moved, lanes = _moved(leg)
    changes: dict[str, object] = {}
    for at in moved.values():
        changes[f"machine.{at.machine}.count"] = 1 + max(
            other.instance for other in moved.values() if other.machine == at.machine
        )
        changes[f"agents.{at.group}.wavefronts"] = 1 + max(
            other.wavefront for other in moved.values() if other.group == at.group
        )
        changes[f"agents.{at.group}.lanes"] = lanes[at.group]
    for name in set(leg.description.agents) - {at.group for at in moved.values()}:
        changes[f"agents.{name}.wavefronts"] = 1
    return changes


def _one_each(protocol: LoadedProtocol, role: str, leg: Leg) -> dict[str, object]:
    """One machine of each kind with this role, unless agents are on more."""
    roles = find_roles(protocol.info, leg.description)
    moved, _ = _moved(leg)
    busy = {at.machine for at in moved.values()}
    return {f"machine.{name}.count": 1 for name in getattr(roles, role) if name not in busy}


def _resized(
    protocol: LoadedProtocol, wanted: Callable[[Leg], dict[str, object]], leg: Leg
) -> Leg | None:
    before = _counts(protocol, leg.description)
    changes = wanted(leg)
    after = before | {path: value for path, value in changes.items() if path in before}
    if after == before:
        return None
    base = outline(protocol.written, protocol.description, leg.description.agents)
    try:
        then = complete(base.override(before), protocol.info)
        now = complete(base.override(after), protocol.info)
        merged = _merged(leg.description.to_dict(), then.to_dict(), now.to_dict())
        description = complete(SystemDescription.from_dict(merged), protocol.info)
        return _in_system(leg, description)
    except (DescriptionError, ConfigError, LookupError):  # counts that do not go together
        return None


def _counts(protocol: LoadedProtocol, description: SystemDescription) -> dict[str, object]:
    """What a shape decides of a system's size, as assignments."""
    roles = find_roles(protocol.info, description)
    machines = (
        *(*roles.first, *roles.second, *roles.directories, *roles.processors),
        *(*roles.dmas, *roles.fetchers, *roles.scalars),
    )
    counts: dict[str, object] = {
        f"machine.{name}.count": description.machines[name].count for name in machines
    }
    for name, group in description.agents.items():
        counts[f"agents.{name}.wavefronts"] = group.wavefronts
        counts[f"agents.{name}.lanes"] = group.lanes
    return counts


def _merged(mine: Any, before: Any, after: Any) -> Any:
    """Mine, with what changes between before and after where it is as before."""
    if mine == before:
        return after
    if not (isinstance(mine, dict) and isinstance(before, dict) and isinstance(after, dict)):
        return mine
    return {name: _merged(mine[name], before.get(name), after.get(name)) for name in mine}


def _in_system(leg: Leg, description: SystemDescription) -> Leg | None:
    """The leg in a system of other counts; None: there is no room for its agents."""
    moved, _ = _moved(leg)
    places = {place: number for number, place in enumerate(_places(description))}
    if not set(moved.values()) <= set(places):
        return None
    to = {agent: places[at] for agent, at in moved.items()}
    agents, _ = agents_of(description)
    program = _lanes_together(leg.program, max(agent.lanes for agent in agents))
    thread = np.array([to[int(agent)] for agent in program.episode_thread], np.int32)
    program = replace(
        program,
        agents=agents,
        episode_thread=thread,
        thread_base=np.zeros(len(agents), np.int64),
        derived=False,
    )
    return replace(leg, program=program, description=description)


def _lanes_together(program: Program, width: int) -> Program:
    """The lanes that each episode uses as its first ones, of so many."""
    on = program.episode_group >= 0
    order = np.argsort(~on, axis=1, kind="stable")
    rows = order[program.action_episode()]

    def moved(array: Any, order: Any, rest: int) -> Any:
        together = np.take_along_axis(array, order, axis=1)[:, :width]
        missing = width - together.shape[1]
        return np.pad(together, ((0, 0), (0, max(0, missing))), constant_values=rest)

    return replace(
        program,
        derived=False,
        episode_group=moved(program.episode_group, order, INACTIVE),
        lane_address=moved(program.lane_address, rows, INACTIVE),
        store_value=moved(program.store_value, rows, 0),
    )
