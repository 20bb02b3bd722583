"""A set-associative cache of protocol-defined entries.

Invariant: ``visible`` maps exactly those lines whose entry is in a way and not NotPresent; an
entry knows its cache and way, so that changing its permission keeps the map right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from runtime.errors import ErrorKind, ProtocolError
from runtime.structures.banked_array import AluArray, BankedArray
from runtime.structures.replacement_policy import make_policy
from runtime.types.enumerations import AccessPermission, CacheRequestType, CacheResourceType

_INVALID = AccessPermission.Invalid
_NOT_PRESENT = AccessPermission.NotPresent
_NO_ACCESS = (_INVALID, _NOT_PRESENT)


class AbstractCacheEntry:
    """Base of every entry structure: what the runtime keeps about a line.

    ``locked_by``: the sequencer index that holds a load-linked reservation, -1 for none.
    """

    __slots__ = (
        "address",
        "cache",
        "index",
        "locked_by",
        "permission",
        "read_set",
        "way",
        "write_set",
    )

    def __init__(self) -> None:
        self.address = 0
        self.permission: int = _NOT_PRESENT
        self.locked_by = -1
        self.cache: CacheMemory[Any] | None = None
        self.index = 0
        self.way = 0
        self.read_set = False
        self.write_set = False

    def changePermission(self, permission: int) -> None:
        """Store the permission; without one (Invalid, NotPresent) the reservation is lost."""
        if permission == self.permission:
            return
        if permission in _NO_ACCESS:
            self.locked_by = -1
        hidden = self.permission == _NOT_PRESENT
        self.permission = permission
        if self.cache is not None and hidden != (permission == _NOT_PRESENT):
            self.cache.show(self, hidden)

    def getInHtmReadSet(self) -> bool:
        return self.read_set

    def getInHtmWriteSet(self) -> bool:
        return self.write_set

    def setInHtmReadSet(self, value: bool) -> None:
        self.read_set = value

    def setInHtmWriteSet(self, value: bool) -> None:
        self.write_set = value

    def invalidateEntry(self) -> None:
        """What a transaction abort does to a written line; protocols with one override it."""


E = TypeVar("E", bound=AbstractCacheEntry)


class _Visible(dict[int, Any]):
    """Lines to entries; a miss on an address that is no line address is the protocol's fault."""

    __slots__ = ("line_mask", "name")

    def __init__(self, line_mask: int, name: str) -> None:
        dict.__init__(self)
        self.line_mask = line_mask
        self.name = name

    def __missing__(self, address: int) -> None:
        if address & self.line_mask:
            raise ProtocolError(
                ErrorKind.MISALIGNED, f"lookup of {address:#x}, no line address, in {self.name}"
            )


class CacheMemory(Generic[E]):
    """``sets`` sets of ``ways`` lines of ``1 << line_bits`` bytes.

    ``lookup(line) -> E`` gives the entry, or None. The set of a line is
    ``(line >> start_index_bit) mod sets``. Latencies are cycles. With ``resource_stalls`` the
    tag and data arrays have banks that are busy for their latency, and so have the atomic ALUs.
    ``tally`` and ``victim`` are of those who count (`runtime.statistics.counters`).
    """

    __slots__ = (
        "_free",
        "_sets",
        "alus",
        "counts",
        "data_array",
        "data_latency",
        "demand_hits",
        "demand_misses",
        "isTagPresent",
        "line_bits",
        "line_mask",
        "lookup",
        "name",
        "now",
        "policy",
        "prefetch_hits",
        "prefetch_misses",
        "resource_stalls",
        "sets",
        "start_index_bit",
        "tag_array",
        "tag_latency",
        "tally",
        "victim",
        "visible",
        "ways",
    )

    lookup: Callable[[int], E]
    isTagPresent: Callable[[int], bool]
    tally: list[int]
    victim: int

    def __init__(
        self,
        name: str,
        sets: int,
        ways: int,
        line_bits: int = 6,
        replacement: str = "tree_plru",
        start_index_bit: int | None = None,
        *,
        tag_latency: int = 1,
        data_latency: int = 1,
        resource_stalls: bool = False,
        tag_banks: int = 1,
        data_banks: int = 1,
        alus: int = 0,
        alu_latency: int = 1,
        now: Callable[[], int] | None = None,
    ) -> None:
        if sets < 1 or ways < 1:
            raise ValueError(f"{name}: {sets} sets of {ways} ways")
        self.name = name
        self.sets = sets
        self.ways = ways
        self.line_bits = line_bits
        self.line_mask = (1 << line_bits) - 1
        self.start_index_bit = line_bits if start_index_bit is None else start_index_bit
        self.policy = make_policy(replacement, sets, ways)
        self.tag_latency = tag_latency
        self.data_latency = data_latency
        self.resource_stalls = resource_stalls
        if resource_stalls and now is None:
            raise ValueError(f"{name}: resource stalls need a clock (`now`)")
        self.now = now or (lambda: 0)
        self.tag_array = BankedArray(tag_banks, tag_latency)
        self.data_array = BankedArray(data_banks, data_latency)
        self.alus = AluArray(alus, alu_latency)
        self._sets: list[list[E | None]] = [[None] * ways for _ in range(sets)]
        self._free = [ways] * sets
        self.visible = _Visible(self.line_mask, name)
        # The dictionary's own methods: a hit in C costs a third of one written in Python.
        self.lookup = self.visible.__getitem__
        self.isTagPresent = self.visible.__contains__
        self.counts = [0] * CacheRequestType.NUM
        self.demand_hits = 0
        self.demand_misses = 0
        self.prefetch_hits = 0
        self.prefetch_misses = 0

    # ------------------------------------------------------------ lines

    def index_of(self, address: int) -> int:
        """The set of a line."""
        return (address >> self.start_index_bit) % self.sets

    def _check(self, address: int, operation: str) -> None:
        if address & self.line_mask:
            raise ProtocolError(
                ErrorKind.MISALIGNED,
                f"{operation} of {address:#x}, no line address, in {self.name}",
            )

    def cacheAvail(self, address: int) -> bool:
        """Whether the line has a way, or its set has one to give."""
        if address in self.visible:
            return True
        if address & self.line_mask:
            self._check(address, "cacheAvail")
        return self._free[(address >> self.start_index_bit) % self.sets] > 0

    def cacheProbe(self, address: int) -> int:
        """The line that has to leave before ``address`` can enter."""
        index = (address >> self.start_index_bit) % self.sets
        if address in self.visible or address & self.line_mask or self._free[index]:
            self._check(address, "cacheAvail")
            raise ProtocolError(
                ErrorKind.ASSERTION, f"cacheProbe of {address:#x}: {self.name} has room for it"
            )
        entry = self._sets[index][self.policy.victim(index)]
        assert entry is not None
        return entry.address

    def allocate(self, address: int, entry: E) -> E:
        """Put a new entry into the first free way, with permission Invalid."""
        if address & self.line_mask:
            self._check(address, "allocate")
        if entry is None:
            raise ProtocolError(ErrorKind.NULL_DEREFERENCE, f"allocate of null in {self.name}")
        if address in self.visible:
            raise ProtocolError(
                ErrorKind.ALREADY_ALLOCATED, f"{self.name} already has an entry for {address:#x}"
            )
        index = (address >> self.start_index_bit) % self.sets
        ways = self._sets[index]
        for way, old in enumerate(ways):
            if old is None or old.permission == _NOT_PRESENT:
                if old is not None:
                    old.cache = None
                ways[way] = entry
                break
        else:
            raise ProtocolError(
                ErrorKind.TABLE_FULL, f"no free way for {address:#x} in {self.name}"
            )
        self._free[index] -= 1
        assert self._free[index] >= 0, f"{self.name}: a way was given that was not free"
        entry.address = address
        entry.permission = _INVALID
        entry.locked_by = -1
        entry.cache = self
        entry.index = index
        entry.way = way
        self.visible[address] = entry
        self.policy.touch(index, way)
        return entry

    def allocateVoid(self, address: int, entry: E) -> None:
        self.allocate(address, entry)

    def deallocate(self, address: int) -> None:
        """Remove the entry and free its way."""
        entry = self.visible.pop(address, None)
        if entry is None:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"{self.name} has no {address:#x}")
        entry.cache = None
        assert self._sets[entry.index][entry.way] is entry, f"{self.name}: an entry knows its way"
        self._sets[entry.index][entry.way] = None
        self._free[entry.index] += 1
        self.policy.invalidate(entry.index, entry.way)

    def show(self, entry: AbstractCacheEntry, visible: bool) -> None:
        """An entry became visible or NotPresent; for ``changePermission`` only."""
        if visible:
            self.visible[entry.address] = entry
            self._free[entry.index] -= 1
        else:
            self.visible.pop(entry.address, None)
            self._free[entry.index] += 1

    def getNullEntry(self) -> E:
        return cast("E", None)

    def setMRU(self, address: int, occupancy: int = 0) -> None:
        """Touch a line if it is present. ``occupancy`` is ignored: no policy weighs it."""
        entry = self.visible.get(address & ~self.line_mask)
        if entry is not None:
            self.policy.touch(entry.index, entry.way)

    def setMRU_entry(self, entry: AbstractCacheEntry) -> None:
        """Touch the line of an entry."""
        if entry is None:
            raise ProtocolError(ErrorKind.NULL_DEREFERENCE, f"setMRU of null in {self.name}")
        if entry.cache is self:
            self.policy.touch(entry.index, entry.way)

    def entries(self) -> Iterator[E]:
        """All visible entries by set and way."""
        for ways in self._sets:
            for entry in ways:
                if entry is not None and entry.permission != _NOT_PRESENT:
                    yield entry

    def getCacheSize(self) -> int:
        """Bytes."""
        return self.sets * self.ways << self.line_bits

    def getNumBlocks(self) -> int:
        return self.sets * self.ways

    def getAddressAtIdx(self, position: int) -> int:
        """The line in a frame, counting ways within sets; 0 when it holds nothing valid."""
        if not 0 <= position < self.sets * self.ways:
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"frame {position} of {self.name}")
        entry = self._sets[position // self.ways][position % self.ways]
        if entry is None or entry.permission in (_INVALID, _NOT_PRESENT):
            return 0
        return entry.address

    # ------------------------------------------------------------ array accesses

    def recordRequestType(self, kind: int, address: int) -> None:
        """Count an access to an array, and occupy it if the cache models that."""
        self.counts[kind] += 1
        if not self.resource_stalls:
            return
        now = self.now()
        if kind in (CacheRequestType.DataArrayRead, CacheRequestType.DataArrayWrite):
            self.data_array.reserve(self.index_of(address), now)
        elif kind in (CacheRequestType.TagArrayRead, CacheRequestType.TagArrayWrite):
            self.tag_array.reserve(self.index_of(address), now)
        else:
            self.alus.reserve(address & ~self.line_mask, now)

    def checkResourceAvailable(self, kind: int, address: int) -> bool:
        """Whether an array can be accessed in this cycle."""
        if not self.resource_stalls:
            return True
        now = self.now()
        if kind == CacheResourceType.DataArray:
            return self.data_array.is_free(self.index_of(address), now)
        if kind == CacheResourceType.TagArray:
            return self.tag_array.is_free(self.index_of(address), now)
        return self.alus.is_free(address & ~self.line_mask, now)

    def getTagLatency(self) -> int:
        return self.tag_latency

    def getDataLatency(self) -> int:
        return self.data_latency

    # ------------------------------------------------------------ statistics and transactions

    def profileDemandHit(self) -> None:
        self.demand_hits += 1

    def profileDemandMiss(self) -> None:
        self.demand_misses += 1

    def profilePrefetchHit(self) -> None:
        self.prefetch_hits += 1

    def profilePrefetchMiss(self) -> None:
        self.prefetch_misses += 1

    def htmCommitTransaction(self) -> None:
        """Forget read and write sets and reservations."""
        for entry in self.entries():
            entry.read_set = entry.write_set = False
            entry.locked_by = -1

    def htmAbortTransaction(self) -> None:
        """Invalidate what the transaction wrote, then forget it."""
        for entry in self.entries():
            if entry.write_set:
                entry.invalidateEntry()
            entry.read_set = entry.write_set = False
            entry.locked_by = -1


class PerfectCacheMemory(Generic[E]):
    """A table of plain records by line, without limit. ``lookup`` makes what it does not find."""

    __slots__ = ("factory", "isTagPresent", "records")

    isTagPresent: Callable[[int], bool]

    def __init__(self, factory: Callable[[], E]) -> None:
        self.factory = factory
        self.records: dict[int, E] = {}
        self.isTagPresent = self.records.__contains__

    def allocate(self, address: int) -> None:
        """A new record, replacing an old one."""
        self.records[address] = self.factory()

    def deallocate(self, address: int) -> None:
        if self.records.pop(address, None) is None:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"no record of {address:#x}")

    def lookup(self, address: int) -> E:
        record = self.records.get(address)
        if record is None:
            record = self.records[address] = self.factory()
        return record
