"""Delays of single messages: what is left of a policy when all others are gone.

A drawn delay depends on the names of its channel and its line, so moving an agent or a line draws
others. A script moves with them. Invariant: a leg whose delays were written down runs tick for
tick as before (docs/semantics.md, *Scripted delays*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import DelayedMessage, SystemDescription
from runtime.sim.delay_policy import SCRIPTED
from runtime.system.builder import build_system
from tester.campaign.campaign import leg_run
from tester.program.replay_file import Leg

NOMINAL: Final = "nominal"
_MOST: Final = 4096
"""Rows of a description's script."""


def is_drawn(description: SystemDescription) -> bool:
    """Whether delays depend on the run key."""
    return description.network.delays not in (NOMINAL, SCRIPTED)


def script_of(leg: Leg) -> tuple[DelayedMessage, ...]:
    """The messages that a leg's script delays."""
    return leg.description.network.script or ()


def with_script(leg: Leg, script: Iterable[DelayedMessage]) -> Leg:
    """The leg with these messages delayed and no others."""
    rows = tuple(script)
    network = structs.replace(
        leg.description.network, delays=SCRIPTED if rows else NOMINAL, script=rows or None
    )
    return replace(leg, description=structs.replace(leg.description, network=network))


def with_policy(leg: Leg, delays: str) -> Leg:
    """The leg with drawn delays."""
    network = structs.replace(leg.description.network, delays=delays, script=None)
    return replace(leg, description=structs.replace(leg.description, network=network))


def written_down(leg: Leg, protocol: LoadedProtocol) -> Leg | None:
    """The leg with its drawn delays as a script; None: they are too many."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    leg_run(leg, system).run()
    policy = system.network.delays
    drawn = [] if policy is None else policy.drawn()
    if len(drawn) > _MOST:
        return None
    return with_script(leg, [DelayedMessage(d.channel, d.message, d.cycles, d.line) for d in drawn])


def with_lines_moved(leg: Leg, to: Mapping[int, int]) -> Leg:
    """What happened on some lines happens on others, at the same offsets; so do their delays."""
    program, size = leg.program, leg.program.line_size

    def moved(address: np.ndarray) -> np.ndarray:
        result = address.copy()
        for line, other in to.items():
            result[(address >= line) & (address < line + size)] += other - line
        return result

    program = replace(
        program,
        derived=False,
        group_word=moved(program.group_word),
        lane_address=moved(program.lane_address),
    )
    leg = replace(leg, program=program)
    if not script_of(leg):
        return leg
    return with_script(
        leg,
        _distinct(structs.replace(d, line=to.get(d.line, d.line)) for d in script_of(leg)),
    )


def with_channels_renamed(leg: Leg, renamed: Callable[[str], str | None]) -> Leg:
    """The script with other names of machines; without the rows of those that are gone."""
    if not script_of(leg):
        return leg
    rows = []
    for delay in script_of(leg):
        ends = [renamed(end) for end in delay.channel.split("->")]
        if None not in ends:
            rows.append(structs.replace(delay, channel="->".join(filter(None, ends))))
    return with_script(leg, _distinct(rows))


def _distinct(rows: Iterable[DelayedMessage]) -> list[DelayedMessage]:
    """The first of those for one message."""
    found: dict[tuple[str, int, int], DelayedMessage] = {}
    for row in rows:
        found.setdefault((row.channel, row.line, row.message), row)
    return list(found.values())
