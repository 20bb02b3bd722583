"""Which protocol the leg of a replay file runs on, and whether it fits.

A file names the protocol's path: see `protocols.loader.reachable`. Invariant: a path that is not
reachable is opened only if the command line gives it itself, and a leg that `fitted` returns has a
system that the protocol can be built into, and the agents of that system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from protocols import shipped
from protocols.loader import LoadedProtocol, reachable
from protocols.texts import ProtocolTexts
from runtime.description import DescriptionError
from runtime.description.inference import complete
from tester.errors import ConfigError
from tester.execution.handover import agents_of
from tester.generator.config import Abilities
from tester.profiles import machine_roles
from tester.program.array_validation import entry
from tester.program.program import FLUSHES, INSTRUCTION, PLAIN, AgentSpec, Program
from tester.program.replay_file import Leg, ReplayError


def carried(leg: Leg, include: Sequence[Path]) -> ProtocolTexts | None:
    """The texts in the file, if the protocol itself is not here."""
    there = leg.protocol.path and reachable(leg.protocol.path, include)
    return None if there and Path(leg.protocol.path).is_file() else leg.texts


def named_protocol(leg: Leg, file: Path, include: Sequence[Path]) -> str:
    """What to load for a leg when the command line names no protocol. Raises ReplayError."""
    name, path = leg.protocol.name, leg.protocol.path
    if not path:
        if name in shipped():
            return name
        raise ReplayError(
            file, f"its protocol {name} is not a shipped one: name its file with --protocol PATH"
        )
    if reachable(path, include):
        return path
    raise ReplayError(
        file,
        f"its protocol {path} lies neither below the working directory nor below a directory of "
        f"--include: --include {Path(path).parent}, or --protocol with its path, allows it",
    )


def parameters_of(leg: Leg) -> dict[str, object]:
    """The leg's values of parameters by path, for a protocol that has no default for some."""
    return {
        f"machine.{name}.parameters.{parameter}": value
        for name, machine in leg.description.machines.items()
        for parameter, value in machine.parameters.items()
    }


def fitted(leg: Leg, protocol: LoadedProtocol, file: Path) -> Leg:
    """The leg, its system completed and checked for the protocol.

    Raises ReplayError.
    """
    identity = protocol.identity
    then, now = (sorted(d.machines) for d in (leg.description, protocol.description))
    if then != now:
        raise ReplayError(
            file,
            f"the leg was made for the machines of {leg.protocol.name} "
            f"({', '.join(then)}), {identity.name} has other ones ({', '.join(now)})",
        )
    try:
        description = complete(leg.description, protocol.info)
        agents, groups = agents_of(description)
    except (DescriptionError, ConfigError) as error:
        raise ReplayError(file, f"its description is wrong: {error}") from None
    if agents != leg.program.agents:
        raise ReplayError(file, _other_agents(leg.program.agents, agents))
    able = machine_roles.abilities(protocol.accepted, description)
    unable = _unable(leg.program, [able[group] for group in groups])
    if unable is not None:
        raise ReplayError(file, f"its program is malformed: {unable}, which its agent cannot do")
    return replace(leg, description=description)


def _other_agents(written: Sequence[AgentSpec], needed: Sequence[AgentSpec]) -> str:
    """Where the agents of a program are not those of its system."""
    if len(written) != len(needed):
        return f"its program has {len(written)} agents, its system {len(needed)}"
    place = next(i for i, pair in enumerate(zip(written, needed)) if pair[0] != pair[1])
    return f"program.agents[{place}] is {written[place]}, its system has {needed[place]} there"


def _unable(program: Program, able: Sequence[Abilities]) -> str | None:
    """The first episode or action that the agent's machine has no events for."""
    of_episode, of_action = program.episode_scope, program.action_scope
    agent = program.episode_thread
    acting = agent[program.action_episode()]
    for name, scope, bit, agents, can in (
        ("episode_scope", of_episode, FLUSHES, agent, [a.flush for a in able]),
        ("episode_scope", of_episode, PLAIN, agent, [a.plain for a in able]),
        ("action_scope", of_action, INSTRUCTION, acting, [a.instructions for a in able]),
    ):
        wrong = (scope & bit > 0) & ~np.array(can, np.bool_)[agents]
        if wrong.any():
            return entry(name, scope, wrong)
    return None
