"""Record the requests to a memory, and replay them.

A recording has every request with the tick at which it was made, and what the host read and wrote
at rest. A replay makes the same requests at the same ticks, whatever the answers. Invariant: a
replay into a system like the recorded one, with the same seed, makes the same transitions in the
same ticks; in another system it is a fixed load, since no request waits for an answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpu.memory.address_space import AddressSpace, Allocation
from gpu.memory.interface import Memory, MemoryRequest
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class HostAccess:
    """``data`` None: bytes were read."""

    address: int
    size: int
    data: bytes | None


class Recording:
    """``events``: what was done at which tick, in order. ``source``: where allocations are made
    while something is recorded."""

    def __init__(self, source: AddressSpace | None = None) -> None:
        self.events: list[tuple[int, MemoryRequest | HostAccess]] = []
        self._source = source
        self._extent = -1
        self._allocations: dict[int, Allocation] = {}

    def note(self, tick: int, event: MemoryRequest | HostAccess) -> None:
        if self._source is not None and self._source.extent != self._extent:
            self._extent = self._source.extent
            for place in self._source.allocations:
                self.keep(place)
        self.events.append((tick, event))

    def keep(self, place: Allocation) -> None:
        """Keep an allocation that was mapped at some time."""
        self._allocations.setdefault(place.start, place)

    @property
    def allocations(self) -> list[Allocation]:
        """Everything that was mapped at some time, in ascending order."""
        return [self._allocations[start] for start in sorted(self._allocations)]

    @property
    def requests(self) -> int:
        return sum(isinstance(event, MemoryRequest) for _, event in self.events)

    def space(self) -> AddressSpace:
        """Everything that was mapped at some time of the recording; doorbells are mute."""
        space = AddressSpace()
        for place in self.allocations:
            on_store = None if place.on_store is None else mute
            space.adopt(replace(place, on_store=on_store, contents=None))
        return space


def mute(address: int, data: bytes) -> None:
    """Ignore a store to a doorbell."""


class Replayed(NamedTuple):
    """How many answers came, and how many events later than they were recorded."""

    answers: int
    late: int


def replay(recording: Recording, memory: Memory) -> Replayed:
    """Repeat what was recorded. ``memory``: new, with the space of the recording.

    Raises what a request raises that this memory cannot take.
    """
    answers = late = 0
    for tick, event in recording.events:
        while memory.now < tick:
            answers += len(memory.run(tick))
        if isinstance(event, HostAccess):
            while memory.busy:  # in another system than the recorded one
                answers += len(memory.run(None))
        late += memory.now > tick
        if isinstance(event, MemoryRequest):
            memory.push(event)
        elif event.data is None:
            memory.read(event.address, event.size)
        else:
            memory.write(event.address, event.data)
    while memory.busy:
        answers += len(memory.run(None))
    return Replayed(answers, late)
