"""Legs next to a failing one: the same with one thing taken away, or with one message later.

Invariant: a neighbour differs from the leg in one piece of one `ShrinkStep`, or in the delay of one
message; the order of the neighbours depends on the leg alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import DelayedMessage
from runtime.sim.delay_policy import ScriptedDelay
from runtime.system.builder import build_system, channel_names
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import leg_run
from tester.program.replay_file import Leg
from tester.shrink.scripts import is_drawn, script_of, with_script
from tester.shrink.simpler_programs import program_steps

_DELAYS: Final = (20, 200)
"""Cycles that a message is later: a few transitions, and everything else that is under way."""
_MOST_PIECES: Final = 24
_MOST_MESSAGES: Final = 64


@dataclass(frozen=True, slots=True)
class Neighbour:
    """``change``: how it differs, in words."""

    change: str
    leg: Leg


def neighbours(leg: Leg, protocol: LoadedProtocol) -> Iterator[Neighbour]:
    """What differs in a piece of the program, then what differs in a delay."""
    for step in program_steps():
        count = step.count(leg)
        for place in range(min(count, _MOST_PIECES)):
            away = np.zeros(count, np.bool_)
            away[place] = True
            without = step.without(leg, away)
            if without is not None:
                which = f" {place + 1} of {count}" if count > 1 else ""
                yield Neighbour(f"without {step.what}{which}", without)
    if is_drawn(leg.description):
        return
    script = script_of(leg)
    for row in script:
        change = f"without the delay of {_message(row)}"
        yield Neighbour(change, with_script(leg, [each for each in script if each is not row]))
    for sent in messages_of(leg, protocol)[:_MOST_MESSAGES]:
        for delay in _DELAYS:
            row = DelayedMessage(sent.channel, sent.message, sent.cycles + delay, sent.line)
            change = f"with {_message(row)} {delay} cycles later"
            yield Neighbour(change, with_script(leg, _with_row(script, row)))


def messages_of(leg: Leg, protocol: LoadedProtocol) -> list[ScriptedDelay]:
    """All messages of a leg without drawn delays, and how they are delayed."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    there = {row.channel for row in script_of(leg)}
    others = (
        DelayedMessage(channel, 1, 0)
        for channel in channel_names(system.network, system.buffers)
        if channel not in there
    )
    watched = with_script(leg, [*script_of(leg), *others])
    system = build_system(protocol.info, watched.description, leg.run_key)
    leg_run(watched, system).run()
    policy = system.network.delays
    return [] if policy is None else policy.sent()


def _with_row(script: tuple[DelayedMessage, ...], row: DelayedMessage) -> list[DelayedMessage]:
    same = [
        each
        for each in script
        if (each.channel, each.line, each.message) != (row.channel, row.line, row.message)
    ]
    return [*same, structs.replace(row)]


def _message(row: DelayedMessage) -> str:
    return f"message {row.message} of {row.channel} on {row.line:#x}"
