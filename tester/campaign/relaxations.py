"""Whether a failing leg passes in a system that asks less of its protocol.

A leg may limit tables, buffers and banks, and networks deliver in any order, further than the
author of a protocol ever meant. A failing leg is run again, same program and same delays, without
limits; and with networks in order, where nothing says which order a protocol needs. Invariant: the
verdict and the status of the run stay; at most five more legs are run: without all limits, without
each of the three kinds, and with all networks in order. No leg is needed to see that a message
goes to an instance that the description has and the leg has not, or that caches snoop without a
bus: delays on a bus are others, so that a leg that passes there says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description.inference import complete
from slicc.text.wording import listed
from tester.diagnosis.events.line_events import Event, Sent
from tester.profiles.limited_resources import Limit, limits_in
from tester.program.replay_file import Leg

_SHOWN: Final = 4
_ABSENT: Final = re.compile(r"(\w+)-(\d+) is not part of the system")

Passes = Callable[[Leg], bool]
"""Runs a leg; whether it passes."""


def relaxed(
    leg: Leg, protocol: LoadedProtocol, failure_of: Callable[[Leg], str], headline: str = ""
) -> list[str]:
    """What a report says of the system of a failing leg; nothing if there is nothing to relax.

    ``failure_of``: runs a leg; how it fails, or nothing. ``headline``: of its finding.
    """
    fewer = list(_fewer(leg, protocol, headline))
    if fewer:
        return fewer

    def passes(leg: Leg) -> bool:
        return not failure_of(leg)

    limits = limits_in(leg.description, protocol.description)
    text = list(_without_limits(leg, protocol, passes, limits)) if limits else []
    unordered = _unordered(leg, protocol)
    if unordered and passes(_changed(leg, protocol, dict.fromkeys(unordered, True))):
        text.append(
            "it passes on networks that keep order, same program and same delays: if the protocol "
            "relies on that, say `ordered = true` in the table [network] of its system "
            "description, or for the buffers that need it (--set network.ordered=true tries it)"
        )
    return text


def snooped(leg: Leg, events: Iterable[Event]) -> list[str]:
    """Whether the protocol snoops on networks that are no bus; ``events``: of the failing line."""
    if leg.description.network.kind == "bus":
        return []
    for each in events:
        if not isinstance(each, Sent) or each.network is None:
            continue
        if len(each.receivers) > 1 and each.who in each.receivers:
            return [
                f"{each.who} sends {each.kind} to itself and to others. Where that is to say when "
                "its turn is among the others' messages, all must see one order, which only a bus "
                'gives: `kind = "bus"` in the table [network] of its system description '
                "(--set network.kind=bus tries it)"
            ]
    return []


def _fewer(leg: Leg, protocol: LoadedProtocol, headline: str) -> Iterator[str]:
    """For an instance of a machine that is not there: how to have those of the description."""
    absent = _ABSENT.match(headline)
    if absent is None:
        return
    machine, number, described = absent[1], int(absent[2]), protocol.description
    had, has = (len(each.instances_of(machine)) for each in (described, leg.description))
    if has <= number < had:
        counts = " ".join(
            f"--set machine.{group}.count={described.machines[group].count}"
            for group in described.groups_of(machine)
        )
        yield f"the description has {had} {machine}, this leg {has}: {counts} holds it in all legs"


def _without_limits(
    leg: Leg, protocol: LoadedProtocol, passes: Passes, limits: list[Limit]
) -> Iterator[str]:
    kinds = list(dict.fromkeys(limit.kind for limit in limits))
    drawn = f"the {listed(kinds)} that profile {leg.profile or 'of the leg'} drew"
    if not passes(_lifted(leg, protocol, limits)):
        yield f"it fails without {drawn} as well"
        return
    yield (
        f"it passes without {drawn}: the protocol may need what it does not ask for. If it is "
        "written for larger ones only, say their sizes in its system description"
    )
    for kind in kinds if len(kinds) > 1 else ():
        mine = [limit for limit in limits if limit.kind == kind]
        if passes(_lifted(leg, protocol, mine)):
            yield f"it passes without the {kind} alone"
    shown = "; ".join(map(str, limits[:_SHOWN]))
    more = f"; and {len(limits) - _SHOWN} more" if len(limits) > _SHOWN else ""
    yield f"limits: {shown}{more}"


def _lifted(leg: Leg, protocol: LoadedProtocol, limits: Iterable[Limit]) -> Leg:
    return _changed(leg, protocol, {limit.path: limit.usual for limit in limits})


def _changed(leg: Leg, protocol: LoadedProtocol, changes: dict[str, object]) -> Leg:
    description = complete(leg.description.override(changes), protocol.info)
    return replace(leg, description=description)


def _unordered(leg: Leg, protocol: LoadedProtocol) -> list[str]:
    """Buffers of networks that keep no order, if nothing says which of them must."""
    stated = protocol.written
    if (
        not protocol.identity.path  # shipped
        or stated.network.ordered
        or any(b.ordered for machine in stated.machines.values() for b in machine.buffers.values())
    ):
        return []
    networked = {
        machine.MACHINE: {p.name for p in machine.PARAMETERS if _is_networked(p)}
        for machine in protocol.info.machines
    }
    return [
        f"machine.{name}.buffer.{buffer}.ordered"
        for name, machine in leg.description.machines.items()
        for buffer, how in machine.buffers.items()
        if buffer in networked[machine.of or name] and not how.ordered
    ]


def _is_networked(parameter: object) -> bool:
    return getattr(parameter, "virtual_network", None) is not None
