"""Ways to make the system of a leg simpler: fewer machines, waves, lanes, frames, limits, delays.

To change counts, the protocol's own description is completed with those of before and with those
of after: what the leg has as the first one says becomes what the second one says, and everything
else stays (`tester.shrink.usual_systems`).
Agents keep their place on their ports, ports in use move together, and so do lanes in use.

Invariant: what a known defect of the protocol is avoided with stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import complete
from runtime.system.system import agent_places
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray
from tester.errors import ConfigError
from tester.execution.handover import agents_of
from tester.program.program import INACTIVE, Program
from tester.program.replay_file import Leg
from tester.shrink.scripts import (
    NOMINAL,
    script_of,
    with_channels_renamed,
    with_policy,
    with_script,
)
from tester.shrink.simpler_programs import ShrinkStep
from tester.shrink.usual_systems import UsualSystems

_ROLES: Final = ("second", "private", "directories", "processors", "dmas", "fetchers", "scalars")
_IDLE: Final = ("processors", "dmas", "fetchers", "scalars")

_Wanted = Callable[[Leg], dict[str, object]]
"""Counts of a smaller system, as assignments."""


def system_steps(protocol: LoadedProtocol) -> tuple[ShrinkStep, ...]:
    """All steps that change the system, what saves most first."""
    usual = UsualSystems(protocol)
    counts: list[_Wanted] = [_used_only]
    counts += [partial(_one_each, usual, role) for role in _ROLES]
    counts += [partial(_without_idle, usual, role) for role in _IDLE]
    return (
        _DELAYS,
        _SCRIPT,
        *(_single("machines, waves, lanes", partial(_resized, usual, each)) for each in counts),
        ShrinkStep(
            "settings",
            lambda leg: len(usual.settings(leg.description)),
            partial(_without_settings, usual),
        ),
        *_FRAMES,
    )


def _single(what: str, change: Callable[[Leg], Leg | None]) -> ShrinkStep:
    """A step of one piece: a change that is made as a whole or not at all."""
    last: list[tuple[Leg, Leg | None]] = []

    def changed(leg: Leg) -> Leg | None:
        if not last or last[0][0] is not leg:  # it is asked for twice
            last[:] = [(leg, change(leg))]
        return last[0][1]

    return ShrinkStep(
        what, lambda leg: int(changed(leg) is not None), lambda leg, away: changed(leg)
    )


_DELAYS: Final = ShrinkStep(
    "delays",
    lambda leg: int(leg.description.network.delays != NOMINAL),
    lambda leg, away: with_policy(leg, NOMINAL),
    retimed=False,
)
_SCRIPT: Final = ShrinkStep(
    "delayed messages",
    lambda leg: len(script_of(leg)),
    lambda leg, away: with_script(
        leg, [row for row, gone in zip(script_of(leg), away.tolist()) if not gone]
    ),
    retimed=False,
)

# ------------------------------------------------------------------ settings


def _without_settings(usual: UsualSystems, leg: Leg, away: BoolArray) -> Leg | None:
    data = leg.description.to_dict()
    for (path, value), gone in zip(usual.settings(leg.description), away.tolist()):
        if gone:
            table = data
            for part in path[:-1]:
                table = table.setdefault(part, {})
            if value is None:
                table.pop(path[-1], None)
            else:
                table[path[-1]] = value
    return _described(usual.protocol, leg, data)


def _described(protocol: LoadedProtocol, leg: Leg, data: Mapping[str, Any]) -> Leg | None:
    """The leg in another system with the same agents; None: there is no such system."""
    try:
        description = complete(SystemDescription.from_dict(data), protocol.info)
        same = agents_of(description)[0] == leg.program.agents
    except (DescriptionError, ConfigError):
        return None
    return replace(leg, description=description) if same else None


def _frames(sets: bool, ways: bool) -> ShrinkStep:
    """Caches with fewer sets, fewer ways, or both."""

    def large(leg: Leg) -> list[tuple[str, str]]:
        return [
            (name, cache)
            for name, machine in leg.description.machines.items()
            for cache, built in machine.caches.items()
            if machine.count and ((sets and built.sets > 1) or (ways and built.ways > 1))
        ]

    def smaller(leg: Leg, away: BoolArray) -> Leg | None:
        changes: dict[str, object] = {}
        for (name, cache), gone in zip(large(leg), away.tolist()):
            if gone:
                changes |= {f"machine.{name}.cache.{cache}.sets": 1} if sets else {}
                changes |= {f"machine.{name}.cache.{cache}.ways": 1} if ways else {}
        try:
            return replace(leg, description=leg.description.override(changes))
        except DescriptionError:
            return None

    return ShrinkStep("frames of caches", lambda leg: len(large(leg)), smaller)


_FRAMES: Final = (_frames(True, True), _frames(True, False), _frames(False, True))

# ------------------------------------------------------------------ counts


@dataclass(frozen=True, slots=True)
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


def _one_each(usual: UsualSystems, role: str, leg: Leg) -> dict[str, object]:
    """One machine of each kind with this role, unless agents are on more."""
    roles = usual.roles(leg.description)
    moved, _ = _moved(leg)
    busy = {at.machine for at in moved.values()}
    return {f"machine.{name}.count": 1 for name in getattr(roles, role) if name not in busy}


def _without_idle(usual: UsualSystems, role: str, leg: Leg) -> dict[str, object]:
    """No machines with this role whose agents have nothing to do."""
    roles = usual.roles(leg.description)
    moved, _ = _moved(leg)
    busy = {at.machine for at in moved.values()}
    return {f"machine.{name}.count": 0 for name in getattr(roles, role) if name not in busy}


def _resized(usual: UsualSystems, wanted: _Wanted, leg: Leg) -> Leg | None:
    description = leg.description
    before = usual.counts(description)
    changes = wanted(leg)
    gone = {
        name
        for name, group in description.agents.items()
        if changes.get(f"machine.{description.requesters[group.requester].machine}.count") == 0
    }
    after = {
        path: changes.get(path, value)
        for path, value in before.items()
        if not (path.startswith("agents.") and path.split(".")[1] in gone)
    }
    if after == before:
        return None
    then = usual.completed(description.agents, before)
    now = usual.completed(set(description.agents) - gone, after)
    if then is None or now is None:
        return None
    merged = _merged(leg.description.to_dict(), then.to_dict(), now.to_dict())
    try:
        description = complete(SystemDescription.from_dict(merged), usual.protocol.info)
        return _in_system(leg, description)
    except (DescriptionError, ConfigError, LookupError):  # counts that do not go together
        return None


def _merged(mine: Any, before: Any, after: Any) -> Any:
    """Mine, with what changes between before and after where it is as before."""
    if mine == before:
        return after
    if not (isinstance(mine, dict) and isinstance(before, dict) and isinstance(after, dict)):
        return mine
    return {
        name: _merged(mine[name], before.get(name), after.get(name))
        for name in mine
        if name in after or name not in before
    }


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
    renamed = partial(_renamed, leg.description, description, moved)
    return with_channels_renamed(replace(leg, program=program, description=description), renamed)


def _renamed(
    before: SystemDescription, after: SystemDescription, moved: Mapping[int, _Place], end: str
) -> str | None:
    """What a buffer is called in another system; None: its machine is gone."""
    places = _places(before)
    to = {(places[agent].machine, places[agent].instance): at for agent, at in moved.items()}
    busy = {machine for machine, _ in to}
    machine, dot, buffer = end.partition(".")
    if not dot:  # the bus
        return end
    group, instance = next(each for each, name in _names(before).items() if name == machine)
    if group in busy:
        if (group, instance) not in to:
            return None
        instance = to[group, instance].instance
    name = _names(after).get((group, instance))
    return None if name is None else f"{name}.{buffer}"


def _names(description: SystemDescription) -> dict[tuple[str, int], str]:
    """What the instances of groups are called in the names of their parts."""
    machines = {of.of or name for name, of in description.machines.items()}
    return {
        place: f"{machine}{number}"
        for machine in sorted(machines)
        for number, place in enumerate(description.instances_of(machine))
    }


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
