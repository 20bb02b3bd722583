"""Candidate executions: which write each read reads from, and in which order writes take effect.

Both are chosen cell by cell, and what breaks coherence within one thread is pruned at once, before
cells are combined: most choices are never made. A batch holds the relations of many candidates.

Invariant: every execution that `gpu.memory_model.axioms` accepts is in some batch, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import Final

import numpy as np

from gpu.memory_model.events import Event, Frame, TooLarge
from gpu.memory_model.relations import Relation, compose, reflexive
from slicc.text.lazy_dataclass import dataclass

MOST_CANDIDATES: Final = 1 << 17
"""Of one frame; more are refused before the first is judged."""

MOST_ORDERS: Final = 1 << 13
"""Of one cell."""

_BATCH: Final = 2048


@dataclass(frozen=True, slots=True)
class CellOrder:
    """One cell. ``writes``: events in coherence order, the initial write first. ``sources``: of
    each event that reads it, the write."""

    writes: tuple[int, ...]
    sources: dict[int, int]


Pick = tuple[CellOrder, ...]
"""One of each cell: a candidate."""


@dataclass(frozen=True, slots=True)
class Batch:
    """``rf``: from a write to its reads; ``co``: to later writes of the cell; ``fr``: from a read
    to the writes after the one it read from; ``steps``: all of these and their compositions."""

    picks: list[Pick]
    rf: Relation
    co: Relation
    fr: Relation
    steps: Relation


def batches(frame: Frame, pruned: bool = True) -> Iterator[Batch]:
    """All candidates of a frame. Raises TooLarge. ``pruned``: without those that one thread alone
    shows to be incoherent."""
    orders = [
        list(islice(_orders(frame, number, pruned), MOST_ORDERS + 1))
        for number in range(len(frame.cells))
    ]
    count = prod(map(len, orders))
    if count > MOST_CANDIDATES or any(len(cell) > MOST_ORDERS for cell in orders):
        raise TooLarge(f"{count:,} candidate executions or more are too many to be judged")
    matrices = [np.array([_matrices(frame, each) for each in cell]) for cell in orders]
    numbers = product(*(range(len(cell)) for cell in orders))
    while chunk := list(islice(numbers, _BATCH)):
        rows = np.array(chunk, np.intp).reshape(len(chunk), len(orders))
        relations = np.zeros((4, len(chunk), frame.size, frame.size), np.bool_)
        for cell, of_cell in enumerate(matrices):
            relations |= of_cell[rows[:, cell]].swapaxes(0, 1)
        picks = [tuple(cell[n] for cell, n in zip(orders, row)) for row in chunk]
        yield Batch(picks, *relations)


def _matrices(frame: Frame, order: CellOrder) -> Relation:
    rf, co = np.zeros((2, frame.size, frame.size), np.bool_)
    for place, write in enumerate(order.writes):
        co[write, list(order.writes[place + 1 :])] = True
    for read, write in order.sources.items():
        rf[write, read] = True
    fr = compose(rf.T, co) & ~np.eye(frame.size, dtype=np.bool_)
    steps = rf | compose(reflexive(co | fr), reflexive(rf))
    np.fill_diagonal(steps, False)
    return np.array([rf, co, fr, steps])


def _orders(frame: Frame, cell: int, pruned: bool) -> Iterator[CellOrder]:
    using = [n for n, event in enumerate(frame.events) if cell in event.cells]
    writes = [n for n in using[1:] if frame.events[n].writes]
    reads = [n for n in using if frame.events[n].reads]
    for order in _merged(frame, writes, pruned):
        whole = (0, *order)
        places = {write: place for place, write in enumerate(whole)}
        for sources in _sources(frame, whole, places, reads, using, {}, pruned):
            yield CellOrder(whole, {read: whole[place] for read, place in sources.items()})


def _merged(frame: Frame, writes: list[int], pruned: bool) -> Iterator[tuple[int, ...]]:
    """All orders; if pruned, those that keep each thread's own (CoWW)."""
    if not writes:
        yield ()
    seen = set()
    for place, first in enumerate(writes):
        thread = frame.events[first].thread
        if thread not in seen or not pruned:
            for rest in _merged(frame, writes[:place] + writes[place + 1 :], pruned):
                yield (first, *rest)
        seen.add(thread)


def _sources(
    frame: Frame,
    order: tuple[int, ...],
    places: dict[int, int],
    reads: list[int],
    using: list[int],
    chosen: dict[int, int],
    pruned: bool,
) -> Iterator[dict[int, int]]:
    """For each read, the place in the order of the write that it reads from."""
    if len(chosen) == len(reads):
        yield dict(chosen)
        return
    read = reads[len(chosen)]
    first, end = 0, len(order)
    if pruned:
        first, end = _window(frame.events, places, using, chosen, read)
        if read in places:  # a read-modify-write: what is directly before it
            first, end = max(first, places[read] - 1), min(end, places[read])
    for place in range(first, end):
        if order[place] != read:
            chosen[read] = place
            yield from _sources(frame, order, places, reads, using, chosen, pruned)
            del chosen[read]


def _window(
    events: tuple[Event, ...],
    places: dict[int, int],
    using: list[int],
    chosen: dict[int, int],
    read: int,
) -> tuple[int, int]:
    """CoWR, CoRR, CoRW within the read's thread: the first place, and the one behind the last."""
    first, end = 0, len(places)
    for other in using:
        if events[other].thread != events[read].thread or other == read:
            continue
        if other < read:
            first = max(first, places.get(other, 0), chosen.get(other, 0))
        elif other in places:
            end = min(end, places[other])
    return first, end
