"""Chooses the events of a history that a report shows: those that led to the failure.

An event is near to the failure when few steps from effect to cause lie between: from a transition
to the message that it took, from the message to the transition that sent it, from a controller's
transition to the one that brought it into its state, from an answer to the transition that gave
it.
Invariant: the choice keeps the order of the events, and says how many each gap leaves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tester.diagnosis.events.line_events import Event, Sent, Transition

_END: Final = 6
"""The way into the failure, which is always shown."""
_ASIDE: Final = 4
"""Steps to what only happened to be there: a hit, an access to other bytes."""


def choose(
    events: Sequence[Event], limit: int, effects: Iterable[Event], origins: Iterable[Event] = ()
) -> list[int]:
    """Indices of at most ``limit`` events, in order.

    The last events come first, then those nearest to what is to be explained: causes of
    ``effects``, and what came of ``origins``; later ones before earlier ones. What is not
    connected with either comes last.
    """
    count = len(events)
    distance = _distances(events, effects, origins)
    far = count + 1
    order = sorted(
        range(count),
        key=lambda at: (
            at < count - _END,
            distance.get(events[at].number, far),
            not events[at].touched,
            -at,
        ),
    )
    return sorted(order[:limit])


def gaps(chosen: Sequence[int]) -> list[int]:
    """How many events are left out before each chosen one; after the last there are none."""
    before = [-1, *chosen]
    return [number - last - 1 for last, number in zip(before, chosen)]


def _distances(
    events: Sequence[Event], effects: Iterable[Event], origins: Iterable[Event]
) -> dict[int, float]:
    """Steps from each event, by number, to an effect (backwards) or from an origin (forwards)."""
    from networkx import DiGraph, multi_source_dijkstra_path_length  # slow to import

    costs = _costs(events)
    graph: DiGraph[int] = DiGraph()
    graph.add_nodes_from(costs)
    for event in events:
        # A message stands beside the transition that sent it.
        near = isinstance(event, Sent)
        for cause in event.causes:
            if cause in costs:
                back = 0 if near else costs[cause]
                graph.add_edge(event.number, cause, back=back, forth=costs[event.number])
    distance: dict[int, float] = {}
    for start, edges, weight in (
        (effects, graph, "back"),
        (origins, graph.reverse(copy=False), "forth"),
    ):
        numbers = {event.number for event in start if event.number in graph}
        if numbers:
            found = multi_source_dijkstra_path_length(edges, numbers, weight=weight)
            for number, steps in found.items():
                distance[number] = min(steps, distance.get(number, steps))
    return distance


def _costs(events: Sequence[Event]) -> dict[int, int]:
    """How much further away each event is than the one that led to it, by number.

    What happens all the time explains less than what happens once.
    """
    times = Counter(map(_kind, events))
    return {e.number: _cost(e) + (times[_kind(e)].bit_length() - 1) // 2 for e in events}


def _cost(event: Event) -> int:
    if event.touched or isinstance(event, Sent):
        return 1
    if isinstance(event, Transition) and (event.exchanged or event.changes_state):
        return 2
    return _ASIDE


def _kind(event: Event) -> tuple[str, ...]:
    """Equal for events that differ in place and time only."""
    if isinstance(event, Transition):
        return event.who.partition(" ")[0], event.state, event.event
    if isinstance(event, Sent):
        return event.who.partition(" ")[0], event.kind
    return (type(event).__name__, event.change)
