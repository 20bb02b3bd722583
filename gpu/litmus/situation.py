"""The circumstances of one run of a litmus test.

A weak outcome shows only where threads meet at the right moment with their lines in the right
states. What is drawn: where groups are placed, the banks and lines of locations, which threads have
which lines in their cache beforehand, when each thread begins and how long it sleeps before each
operation, the delays of messages. In every third run threads begin far apart, so that one may see
what another has done; in the others they meet.

One launch may perform a test several times at once, as litmus7 does with its size and parallel
testing environments of GPUs do with their work-items: each lane of a wave has an instance of its
own, with lines of its own. Instances share units, times and delays, and differ in their lines, in
what of them is warm, and in when each thread comes to them: a wave of 64 lanes makes its accesses
one after the other, the threads in different orders.

Invariant: a situation depends on the test, the seed, its number and the number of instances alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, NamedTuple

from gpu.dispatch.occupancy import Limits
from gpu.memory_model.program import Fence, Place, Program, Space, Thread
from gpu.wave_size import LANES, round_up
from runtime.prng import Prng
from runtime.sim.delay_policy import DRAWN_POLICIES
from slicc.text.lazy_dataclass import dataclass

CUS: Final = 4
CORES: Final = 4
"""Of processors, in two pairs."""
LINE: Final = 64
BANKS: Final = (1, 2, 4)
_STRIDES: Final = (1, 1, 2, 3, 64)
"""In lines: neighbours, the same bank of two, another one of any, the same set."""
SLEEP: Final = 64
"""Ticks of one unit of sleep."""
_LDS_GRANULE: Final = 16
_LAST_START: Final = 1200
_LATER: Final = 600
"""Ticks by which cores may begin later, because waves have their accesses to memory before them and
first have to fetch."""
_STEP: Final = 40
_MOST_SLEEP: Final = 8


class HeldRequest(NamedTuple):
    """Request number ``number``, from 1, of a unit for the line of a name, is ``ticks`` longer on
    its way to the bank."""

    unit: int
    name: str
    number: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Situation:
    """``groups``: for each group of the test its number in the grid, which places it on the compute
    unit of that number modulo `CUS`. ``cores``: the core of the device for each core of the test.
    ``offsets``: of each name in global memory, in the first instance; in each of the others
    ``apart`` bytes further. ``warm``: for each thread the names whose lines it loads beforehand,
    with a bit for each instance in which it does. ``orders``: of each thread; lane n of a wave has
    instance n xor that of its first thread. ``starts``: ticks after the common start, by thread.
    ``sleeps``: units of ``s_sleep`` before each operation, by thread. ``turns``: seed of the order
    in which the threads of a wave take turns. ``held``: requests that are delayed, of a run that is
    steered; its other messages are not."""

    tccs: int
    key: int
    delays: str
    groups: Mapping[int, int]
    offsets: Mapping[str, int]
    warm: Mapping[str, Mapping[str, int]]
    starts: Mapping[str, int]
    sleeps: Mapping[str, tuple[int, ...]]
    turns: int
    cores: Mapping[int, int]
    held: tuple[HeldRequest, ...] = ()
    instances: int = 1
    apart: int = 0
    orders: Mapping[str, int] = field(default_factory=dict)

    def order_of(self, thread: str) -> int:
        """Which instance lane 0 of a thread has."""
        return self.orders.get(thread, 0)

    def of(self, instance: int) -> Situation:
        """That of one instance by itself."""
        moved = {name: at + self.apart * instance for name, at in self.offsets.items()}
        warm = {
            thread: {name: 1 for name, has in names.items() if has >> instance & 1}
            for thread, names in self.warm.items()
        }
        return replace(self, offsets=moved, warm=warm, instances=1, apart=0, orders={})

    def __str__(self) -> str:
        units = ", ".join(f"group {g} on unit {n % CUS}" for g, n in self.groups.items())
        units += "".join(f", cpu {c} on core {n}" for c, n in self.cores.items())
        lines = ", ".join(f"{name} at {offset:#x}" for name, offset in self.offsets.items())
        warm = ", ".join(f"{name} has {' '.join(has)}" for name, has in self.warm.items() if has)
        return (
            f"{units}; {lines}; {warm or 'no lines are warm'}; {self.tccs} banks, delays "
            f"{self.delays}"
        )


def most_instances(program: Program) -> int:
    """The instances of a program in one launch: as many as a wave has lanes for its threads, and a
    group LDS for its places, a power of two."""
    waves = Counter(
        (t.position.group, t.position.wave) for t in program.threads if t.position.agent == "gpu"
    )
    room = Limits().lds // max(1, local_layout(program).bytes)
    return 1 << min(LANES // max(waves.values()), room).bit_length() - 1


def situation(
    program: Program, seed: int, number: int, units: Mapping[int, int], instances: int = 1
) -> Situation:
    """Number ``number``. ``units``: the compute unit of a group, where the test fixes it.
    ``instances``: of the test, a power of two, at most `most_instances`."""
    prng = Prng(seed).fork(f"litmus run {number}")
    threads = program.threads
    offsets, apart = _offsets(program, prng.fork("lines"))
    return Situation(
        tccs=BANKS[number % len(BANKS)],
        key=prng.fork("key").bits64(),
        delays=DRAWN_POLICIES[number % len(DRAWN_POLICIES)],
        groups=_groups(program, units, prng.fork("groups")),
        offsets=offsets,
        warm=_warm(program, prng.fork("warm"), instances),
        starts=_starts(program, number % 3 == 0, prng.fork("starts")),
        sleeps={
            each.name: _sleeps(len(each.operations), prng.fork(f"sleeps of {each.name}"))
            for each in threads
        },
        turns=prng.fork("turns").bits64(),
        cores=_cores(program, prng.fork("cores")),
        instances=instances,
        apart=apart,
        orders={each.name: prng.below_in(f"order of {each.name}", instances) for each in threads},
    )


def _groups(program: Program, units: Mapping[int, int], prng: Prng) -> dict[int, int]:
    """Distinct numbers; mostly each group on a unit of its own."""
    wanted = sorted({t.position.group for t in program.threads if t.position.agent == "gpu"})
    spread = prng.below(4) > 0
    first = prng.below(CUS)
    taken: set[int] = set()
    found: dict[int, int] = {}
    for number, group in enumerate(wanted):
        unit = units.get(group, (first + number) % CUS if spread else prng.below(CUS))
        while unit in taken:
            unit += CUS
        taken.add(unit)
        found[group] = unit
    return found


def _cores(program: Program, prng: Prng) -> dict[int, int]:
    """A core for each thread of a processor: of the same pair, or of two."""
    wanted = sorted({t.position.group for t in program.threads if t.position.agent == "cpu"})
    return dict(zip(wanted, _shuffled(CORES, prng), strict=False))


def _shuffled(count: int, prng: Prng) -> list[int]:
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        other = prng.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def places(program: Program, space: Space = Space.global_) -> list[Place]:
    """The places of a test in one address space, in the order of the text."""
    accessed = [
        each.place
        for thread in program.threads
        for each in thread.operations
        if not isinstance(each, Fence)
    ]
    every = (*accessed, *program.initial, *program.observed)
    return [place for place in every if place.space is space]


def global_names(program: Program) -> list[str]:
    """The locations in global memory, in the order of the text."""
    return list(dict.fromkeys(place.name for place in places(program)))


class LocalLayout(NamedTuple):
    """The LDS of one instance in a group: where each name is, and how many bytes all have."""

    offsets: Mapping[str, int]
    bytes: int


def local_layout(program: Program) -> LocalLayout:
    """As many bytes for each name as the one that needs most has."""
    local = places(program, Space.local)
    width = round_up(max((each.offset + each.size for each in local), default=0), _LDS_GRANULE)
    names = dict.fromkeys(place.name for place in local)
    return LocalLayout({name: width * at for at, name in enumerate(names)}, width * len(names))


def global_names_of(thread: Thread) -> list[str]:
    """The global places that a thread accesses, in the order of its operations."""
    return list(dict.fromkeys(
        each.place.name
        for each in thread.operations
        if not isinstance(each, Fence) and each.place.space is Space.global_
    ))  # fmt: skip


def _offsets(program: Program, prng: Prng) -> tuple[dict[str, int], int]:
    """A line for each name, and how far the instances are apart: far from each other, or each
    between the names of the others."""
    names = global_names(program)
    stride = _STRIDES[prng.below(len(_STRIDES))]
    order = _shuffled(len(names), prng)
    first = prng.below(8)
    apart = 1 if stride >= LANES else stride * len(names)
    found = {name: LINE * (first + stride * at) for name, at in zip(names, order, strict=True)}
    return found, LINE * apart


def _warm(program: Program, prng: Prng, instances: int) -> dict[str, dict[str, int]]:
    """What each thread has in its caches before: none, all, or some of the lines that it uses."""
    every = (1 << instances) - 1
    found = {}
    for thread in program.threads:
        used = global_names_of(thread)
        chosen = prng.fork(thread.name)
        how = chosen.below(3)
        chances = {name: every if how == 1 else how and _some(every, chosen) for name in used}
        found[thread.name] = {name: has for name, has in chances.items() if has}
    return found


def _some(every: int, prng: Prng) -> int:
    """Each bit or not."""
    return prng.below(2) if every == 1 else prng.bits64() & every


def _starts(program: Program, apart: bool, prng: Prng) -> dict[str, int]:
    spread = _LAST_START if apart else (0, _STEP, 4 * _STEP)[prng.below(3)]
    starts = {each.name: prng.below(spread + 1) for each in program.threads}
    for each in program.threads:
        if each.position.agent == "cpu":
            starts[each.name] += prng.fork(each.name).below(_LATER)
    return starts


def _sleeps(count: int, prng: Prng) -> tuple[int, ...]:
    """Mostly none."""
    often = prng.below(3)
    return tuple(
        prng.below(_MOST_SLEEP) if often and prng.below(4) < often else 0 for _ in range(count)
    )


def where(place: Place, offsets: Mapping[str, int]) -> int:
    """Bytes from the start of the memory of a test."""
    return offsets[place.name] + place.offset
