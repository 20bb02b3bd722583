"""Ports that wait for each other in a circle: a deadlock, if all of them wait at once.

Invariant: a finding names a line for every wait of its circle, and the room of every buffer that
must be full for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from slicc.analysis.blocking.waits import (
    Capacities,
    Place,
    Wait,
    Waits,
    lasting,
    possible,
    waits_of,
)
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, finding
from slicc.diagnostics.model import Diagnostic, Label

SLUGS: Final = ("waiting-cycle",)

Link = tuple[Place, Wait]


def cycles(machines: Sequence[MachineFacts], capacities: Callable[[], Capacities]) -> Findings:
    """The circles in a system with such buffers, which is read only if it matters."""
    waits = lasting(waits_of(machines))
    if waits:
        bounded = capacities()
        for circle in _circles(lasting(possible(waits, bounded))):
            yield _finding(circle, bounded)


def _circles(waits: Waits) -> Iterator[list[Link]]:
    """One circle of each group of ports that wait for each other; the shortest of its first."""
    seen: set[Place] = set()
    for place in waits:
        circle = None if place in seen else _circle(waits, place)
        if circle is not None:
            seen |= {each for each, _ in circle}
            yield circle


def _circle(waits: Waits, start: Place) -> list[Link] | None:
    """The shortest way from a port back to it."""
    ways: list[list[Link]] = [[(start, wait)] for wait in waits[start]]
    reached: set[Place] = set()
    while ways:
        longer: list[list[Link]] = []
        for way in ways:
            for end in way[-1][1].ends:
                if end == start:
                    return way
                if end not in reached:
                    reached.add(end)
                    longer += [[*way, (end, wait)] for wait in waits[end]]
        ways = longer
    return None


def _finding(circle: list[Link], bounded: Capacities) -> Diagnostic:
    (first, wait), *others = circle
    names = " → ".join([*(_name(place) for place, _ in circle), _name(first)])
    return finding(
        "waiting-cycle",
        f"`{first[1]}` of {first[0]} may wait for {'ever' if others else 'what is behind it'}",
        wait.span,
        _text(first, wait),
        secondary=[Label(each.span, _text(place, each)) for place, each in others],
        notes=[f"each waits for the next: {names}", *_rooms(circle, bounded)],
        help="let a port of the circle take its messages in every state, or leave room for all",
    )


def _name(place: Place) -> str:
    return f"{place[0]} `{place[1]}`"


def _text(place: Place, wait: Wait) -> str:
    if wait.rooms:
        return f"`{place[1]}` {wait.what}: needs room"
    ends = " or ".join(f"`{port}`" for _, port in wait.ends)
    return f"`{place[1]}` {wait.what}, until {ends} leads out of it"


def _rooms(circle: list[Link], bounded: Capacities) -> list[str]:
    rooms = dict.fromkeys(room for _, wait in circle for room in wait.rooms)
    if not rooms:
        return ["no buffer of it need be full: what is stalled holds back what is behind it"]
    listed = ", ".join(
        f"`{name}` of {machine}: {bounded[machine, name]}" for machine, name in rooms
    )
    return [f"room in the buffers of the system: {listed}"]
