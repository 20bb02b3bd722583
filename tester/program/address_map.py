"""Which bytes are under test, to which group they belong, and where they lie.

Every byte under test belongs to a *location* (an aligned block of 1, 2, 4 or 8 bytes), every
location to one group, and every group has one atomic word. Locations of different groups and atomic
words share lines, so neighbours in a line are nearly always used by other agents: false sharing is
the normal case. Invariant: locations and atomic words do not overlap, and none crosses a line.

The layout decides which lines are used: a dense block, lines that map to one or two sets of a
cache, a handful of lines that all agents contend for, or lines that mostly map to one bank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import ByteArray, IntArray
from tester.counter_rng import CounterRng, shuffled
from tester.errors import ConfigError
from tester.limits import MAX_GROUPS, MAX_LOCATIONS
from tester.program.program import ATOMIC_BYTES

DENSE: Final = "dense"
SET_CONFLICT: Final = "set-conflict"
LINE_DUEL: Final = "line-duel"
BANK_SKEW: Final = "bank-skew"
LAYOUTS: Final = (DENSE, SET_CONFLICT, LINE_DUEL, BANK_SKEW)

SPLIT_PERCENT: Final = 40
"""How often a block that is larger than the smallest access is cut into two locations."""


@dataclass(frozen=True, slots=True)
class MapConfig:
    """What the address map is to look like. Raises ConfigError when it cannot exist."""

    groups: int = 4
    locations: int | None = 128
    """Locations per group; None: as many as fit into `lines`."""
    lines: int | None = None
    """Lines under test; None: as many as the locations need at `fill_percent`."""
    fill_percent: int = 100
    """Share of the locations of a line that is used; the others keep their initial value."""
    cluster_bytes: int = 1
    """Neighbouring locations within this many bytes belong to one group (1: each location is drawn
    on its own), so that lanes of one group can fill a line, or most of it, together."""
    layout: str = DENSE
    stride_lines: int = 64
    """Distance of two lines of one set (set-conflict), or number of banks (bank-skew)."""
    sets: int = 2
    """Neighbouring sets that a set-conflict layout fills."""
    line_size: int = 64
    smallest: int = 1
    largest: int = 8
    """Sizes in bytes of the accesses that locations must serve."""
    memory_bytes: int = 1 << 30
    """Addresses stay below this."""

    def __post_init__(self) -> None:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            raise ConfigError(wrong)

    def _wrong(self) -> Iterator[str]:
        """What is impossible."""
        if not 1 <= self.groups <= MAX_GROUPS:
            yield f"groups is {self.groups}, 1 to {MAX_GROUPS} are possible"
        if self.locations is not None and self.locations < 1:
            yield "locations must be 1 or more"
        if self.lines is not None and self.lines < 1:
            yield "lines must be 1 or more"
        if self.locations is None and self.lines is None:
            yield "the map needs a number of locations or a number of lines"
        if not 1 <= self.fill_percent <= 100:
            yield "fill_percent must lie between 1 and 100"
        if self.cluster_bytes not in (1, 16, 32, 64, 128, 256):
            yield "cluster_bytes must be 1, 16, 32, 64, 128 or 256"
        if self.layout not in LAYOUTS:
            yield f"no layout {self.layout!r}; there are {', '.join(LAYOUTS)}"
        if self.stride_lines < 1 or self.sets < 1:
            yield "stride_lines and sets must be 1 or more"
        if self.line_size not in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
            yield f"line size {self.line_size} is not a power of two from 8 to 4096"
        sizes = {self.smallest, self.largest}
        if not (1 <= self.smallest <= self.largest <= 8 and sizes <= {1, 2, 4, 8}):
            yield "access sizes are 1, 2, 4 and 8"
        if self.groups * (self.locations or 1) > MAX_LOCATIONS:
            yield (
                f"the map is too large: {self.groups} groups of {self.locations} locations, "
                f"{MAX_LOCATIONS} locations are possible"
            )
        if (self.lines or 1) * self.line_size > 8 * MAX_LOCATIONS:
            yield (
                f"the map is too large: {self.lines} lines of {self.line_size} bytes, "
                f"{8 * MAX_LOCATIONS} bytes are possible"
            )


@dataclass(frozen=True, slots=True, eq=False)
class AddressMap:
    """Locations in the order (group, size falling, address); G groups, C locations."""

    line_size: int
    lines: IntArray  # [n] line addresses under test, ascending
    location_address: IntArray  # [C]
    location_size: ByteArray  # [C]
    group_first: IntArray  # [G+1]: locations of g are group_first[g] .. group_first[g+1]-1
    group_reach: IntArray  # [G, 4]: how many of them have at least 1, 2, 4, 8 bytes
    group_word: IntArray  # [G]


def build_map(config: MapConfig, prng: Prng) -> AddressMap:
    """Draw a map: lines, sizes, groups and the places of the atomic words."""
    per_line = config.line_size // 8
    wanted = None if config.locations is None else config.groups * config.locations
    lines = config.lines
    if lines is None:
        assert wanted is not None
        bytes_ = wanted * _mean_location_bytes(config) * 100 // config.fill_percent
        lines = max(1, (bytes_ * 15 // 16 + config.groups * 8) // config.line_size)
    while True:
        if config.groups > lines * per_line:
            raise ConfigError(
                f"{lines} lines of {config.line_size} bytes have no room for the atomic words of "
                f"{config.groups} groups (one per 8 bytes)"
            )
        words, blocks, sizes = _cut(config, lines, prng)
        if config.lines is not None or len(blocks) * config.fill_percent >= (wanted or 0) * 100:
            break
        lines += max(1, lines // 8)
    keep = len(blocks) * config.fill_percent // 100
    if wanted is not None and (config.lines is None or wanted < keep):
        keep = wanted
    if keep < config.groups:
        raise ConfigError(
            f"{lines} lines hold {keep} locations, too few for {config.groups} groups"
        )
    chosen = np.sort(shuffled(_rng(prng, "fill"), len(blocks))[:keep])
    blocks, sizes = blocks[chosen], sizes[chosen]

    group = _deal(config, blocks, sizes, prng)
    poor = np.flatnonzero(np.bincount(group, minlength=config.groups) == 0)
    if len(poor):
        raise ConfigError(
            f"{lines} lines in clusters of {config.cluster_bytes} bytes are too few for "
            f"{config.groups} groups"
        )
    assert keep <= len(np.unique(blocks)) == len(blocks), "locations do not overlap"
    order = np.lexsort((blocks, -sizes, group))
    group, blocks, sizes = group[order], blocks[order], sizes[order]
    line_address = place_lines(config, lines, prng)
    reach = np.stack(
        [np.bincount(group[sizes >= s], minlength=config.groups) for s in (1, 2, 4, 8)], axis=1
    )
    size = config.line_size
    return AddressMap(
        line_size=size,
        lines=np.sort(line_address),
        location_address=line_address[blocks // size] + blocks % size,
        location_size=sizes.astype(np.uint8),
        group_first=np.searchsorted(group, np.arange(config.groups + 1)),
        group_reach=reach.astype(np.int64),
        group_word=line_address[words // size] + words % size,
    )


def _mean_location_bytes(config: MapConfig) -> int:
    """About what a location takes, rounded down."""
    whole, locations, parts = 100, 0, 1
    for size in (8, 4, 2, 1):
        cut = 0 if size <= config.smallest else 100 if size > config.largest else SPLIT_PERCENT
        locations += parts * whole * (100 - cut)
        whole, parts = whole * cut // 100, parts * 2
    return max(1, 8 * 10_000 // locations)


def _rng(prng: Prng, name: str) -> CounterRng:
    return CounterRng(prng.fork(name))


def _cut(config: MapConfig, lines: int, prng: Prng) -> tuple[IntArray, IntArray, IntArray]:
    """Cut the bytes 0 .. lines*line_size-1 into atomic words, and blocks with their sizes."""
    slots = lines * config.line_size // 8
    place = shuffled(_rng(prng, "words"), slots)
    side = _rng(prng, "word-side").below(np.arange(config.groups), 2) * ATOMIC_BYTES
    words = place[: config.groups] * 8 + side
    blocks = np.sort(place[config.groups :]) * 8
    assert len(words) == config.groups, "each group has a word of its own"
    halves = words ^ ATOMIC_BYTES  # the other half of the 8 bytes is open to locations
    rng = _rng(prng, "split")
    locations: list[IntArray] = []
    sizes: list[IntArray] = []
    for size in (8, 4, 2, 1):
        if size == 4 and config.smallest <= 4:
            blocks = np.concatenate((blocks, halves))
        # Lanes of one group that lie together should find a row of equal locations: cut lines
        # evenly.
        unit = blocks // config.line_size * config.line_size if config.cluster_bytes > 1 else blocks
        split = (size > config.largest) | rng.percent(unit * 8 + size, SPLIT_PERCENT)
        split &= size > config.smallest
        assert not (blocks % size).any(), "a block is aligned to its size"
        locations.append(blocks[~split])
        sizes.append(np.full(len(locations[-1]), size))
        blocks = np.concatenate((blocks[split], blocks[split] + size // 2))
    return words, np.concatenate(locations), np.concatenate(sizes)


def _deal(config: MapConfig, blocks: IntArray, sizes: IntArray, prng: Prng) -> IntArray:
    """A group for each block; every group gets its share of each size, or of the clusters."""
    if config.cluster_bytes > 1:
        clusters, member = np.unique(blocks // config.cluster_bytes, return_inverse=True)
        turn = np.argsort(shuffled(_rng(prng, "deal-clusters"), len(clusters)), kind="stable")
        dealt_to: IntArray = (turn % config.groups)[member]
        return dealt_to
    group = np.empty(len(sizes), np.int64)
    dealt = 0
    for size in (8, 4, 2, 1):
        chosen = np.flatnonzero(sizes == size)
        chosen = chosen[shuffled(_rng(prng, f"deal-{size}"), len(chosen))]
        group[chosen] = (np.arange(len(chosen)) + dealt) % config.groups
        dealt += len(chosen)
    return group


def place_lines(config: MapConfig, lines: int, prng: Prng) -> IntArray:
    """Distinct line addresses, in the order in which lines are filled."""
    index = np.arange(lines)
    rng = _rng(prng, "lines")
    start, choice = rng.below(np.arange(2), 1 << 20).tolist()
    stride = config.stride_lines
    if config.layout == SET_CONFLICT:
        offset = (index // config.sets) * max(stride, config.sets) + index % config.sets
    elif config.layout == LINE_DUEL:
        offset = index * (stride if choice & 1 else 1)
    elif config.layout == BANK_SKEW:
        elsewhere = rng.below(index + 2, 8) == 0
        bank = np.where(elsewhere, rng.below(index + 2 + lines, stride), choice % stride)
        offset = index * stride + bank
    else:
        offset = index
    room = config.memory_bytes // config.line_size - int(offset.max()) - 1
    if room < 1:
        raise ConfigError(
            f"{lines} lines in layout {config.layout} do not fit into "
            f"{config.memory_bytes} bytes of memory"
        )
    address: IntArray = (offset + 1 + start % room) * config.line_size
    return address
