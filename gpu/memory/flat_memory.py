"""Memory without caches and without time: every request is answered in the tick it is made.

The oracle of coherent memory, and what the functional mode runs on. There, instructions call
`FlatMemory.load`, `store` and `atomic` directly; no request is made and nothing waits.

Invariant: lanes act in their order, so that of stores to one byte the last lane's stays, and of
atomics on one word each sees what the one before it left.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Addresses, AddressSpace, Allocation
from gpu.memory.contents import Contents
from gpu.memory.interface import Answer, MemoryRequest, Ports, Translator
from gpu.memory.lane_atomics import apply
from gpu.memory.request_validation import check_shape, translator_of
from gpu.wave_size import LANES
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.types.atomic_op import AtomicKind, AtomicOp

Values = npt.NDArray[Any]
"""What lanes load and store: uint8, uint16 or uint32 of shape (n,) for 1, 2 and 4 bytes a lane;
uint32 of shape (n, 2), (n, 3) or (n, 4) for 8, 12 and 16."""

LINE: Final = 64

_TYPES: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_BELOW_TOP: Final = np.array((1 << 63) - 1, np.uint64)
_LOW: Final = [np.array(shift, np.uint64) for shift in range(4)]
_HIGH: Final = [np.array(63 - shift, np.uint64) for shift in range(4)]
_SHIFTS: Final = {1: 0, 2: 1, 4: 2, 8: 2, 12: 2, 16: 2}
"""By bytes of a lane: the size of the words that are accessed, as a power of two."""
_STEPS: Final = {words: np.arange(words, dtype=np.int64) for words in (2, 3, 4)}


class _Scratch:
    """Room for the arithmetic on the addresses of n lanes, so that none is allocated."""

    __slots__ = ("high", "index", "offset")

    def __init__(self, lanes: int) -> None:
        self.offset = np.empty(lanes, np.uint64)
        self.high = np.empty(lanes, np.uint64)
        self.index = self.offset.view(np.int64)


_SCRATCH: Final = tuple(_Scratch(lanes) for lanes in range(LANES + 1))


class FlatMemory:
    """Memory of one address space. ``cus`` and ``sqcs`` say which ports there are."""

    line_size = LINE

    def __init__(self, space: AddressSpace | None = None, cus: int = 1, sqcs: int = 1) -> None:
        self.space = AddressSpace() if space is None else space
        self.ports = Ports(cus, sqcs)
        self._kinds = [port.kind for port in self.ports]
        self.translator: Translator | None = None
        self.now = 0
        self._answers: list[Answer] = []
        self._rung: list[tuple[Allocation, int, bytes]] = []

    # ------------------------------------------------------------------ directly, without time

    def load(self, addresses: Addresses, size: int) -> Values:
        """What lanes load, ``size`` bytes each: see `Values`. A new array.

        ``addresses``: uint64, shape (n,), n from 1 to 64. Raises Unmapped.
        """
        found = self._first(addresses)
        if found is not None and found.on_store is None:
            words, index = _words_at(found, addresses, size)
            try:
                loaded: Values = words[index]
                return loaded
            except IndexError:
                pass  # not aligned, or not in one allocation
        return self._load_slowly(addresses, size)

    def store(self, addresses: Addresses, values: Values) -> None:
        """Store the lanes' ``values`` (see `Values`). Doorbells are notified at once.

        Raises Unmapped; then nothing has been stored.
        """
        found = self._first(addresses)
        size = values.itemsize if values.ndim == 1 else 4 * values.shape[1]
        if found is not None and found.writable and found.on_store is None:
            words, index = _words_at(found, addresses, size)
            try:
                words[index] = values
            except IndexError:
                pass  # numpy checks all indices first, so nothing has been stored
            else:
                return
        self._store_slowly(addresses, values, size)
        self._ring()

    def atomic(
        self, op: int, addresses: Addresses, operands: Values, compares: Values | None = None
    ) -> Values:
        """Apply an `runtime.types.atomic_op.AtomicKind` lane by lane; the old values.

        ``operands`` and ``compares``: uint32 or uint64, shape (n,). Raises Unmapped, and
        Misaligned for an address that is no multiple of the operand's size.
        """
        size = operands.itemsize
        lanes = addresses.tolist()
        found = self.space.find(lanes[0])
        if found is not None and found.writable and found.on_store is None:
            index = _index(found, addresses, 3 if size == 8 else 2)
            contents = found.contents or _contents(found)
            words: Values = contents.dwords if size == 4 else contents.qwords
            try:
                old = words[index]
            except IndexError:
                pass  # not aligned, or not in one allocation
            else:
                if len(set(lanes)) < len(lanes):
                    places = [found] * len(lanes)
                    return _atomic_in_order(op, places, lanes, operands, compares)
                words[index] = apply(op, old, operands, old if compares is None else compares)
                return old
        places = self.space.locate(addresses, size, writes=True, loads=True, atomic=True)
        return _atomic_in_order(op, places, lanes, operands, compares)

    def load_dwords(self, address: int, count: int) -> list[int]:
        """What a scalar load of ``count`` dwords from a multiple of 4 finds. Raises Unmapped."""
        found = self.space.at(address, 4 * count, loads=True)
        first = address - found.start >> 2
        contents = found.contents or _contents(found)
        dwords: list[int] = contents.scalars[first : first + count].tolist()
        return dwords

    def store_dwords(self, address: int, dwords: list[int]) -> None:
        """What a scalar store to a multiple of 4 does. Raises Unmapped."""
        data = np.array(dwords, np.uint32).tobytes()
        found = self.space.at(address, len(data), writes=True)
        if found.on_store is not None:
            found.on_store(address, data)
            return
        first = address - found.start
        (found.contents or _contents(found)).memory[first : first + len(data)] = data

    @staticmethod
    def contents_of(allocation: Allocation) -> Contents:
        """The bytes of an allocation."""
        return allocation.contents or _contents(allocation)

    # ------------------------------------------------------------------ for the host

    def read(self, address: int, size: int) -> bytes:
        """Raises Unmapped."""
        found = self.space.at(address, size, loads=True)
        first = address - found.start
        return bytes((found.contents or _contents(found)).memory[first : first + size])

    def write(self, address: int, data: bytes) -> None:
        """Raises Unmapped. The host may write what kernels may not."""
        found = self.space.at(address, len(data), loads=True)
        first = address - found.start
        (found.contents or _contents(found)).memory[first : first + len(data)] = data

    # ------------------------------------------------------------------ with a clock

    @property
    def busy(self) -> bool:
        return bool(self._answers)

    def push(self, request: MemoryRequest) -> None:
        """Perform a request; its answers come with the next `run`.

        Raises Unmapped, and ValueError for a request that no memory could answer.
        """
        check_shape(request, self._kinds)
        if request.vmid:
            translator_of(self, request).push(request)
            return
        kind = request.kind
        if kind > AccessKind.ATOMIC:
            self._answer(request, AnswerKind.SYNCHRONIZED, None)
        elif kind == AccessKind.LOAD:
            whole_pages = self._kinds[request.port].moves_lines
            data = _gather(self.space, request.addresses, request.size, whole_pages)
            self._answer(request, AnswerKind.LOADED, data)
        elif kind == AccessKind.STORE:
            assert request.data is not None, "check_shape has looked"
            self._scatter(request.addresses, request.data)
            self._answer(request, AnswerKind.ACCEPTED, None)
            self._answer(request, AnswerKind.PERFORMED, None)
        else:
            self._push_atomic(request)

    def system_fence(self, kind: int) -> list[list[MemoryRequest]]:
        """Nothing: there are no caches."""
        return []

    def run(self, until: int | None) -> list[Answer]:
        """The answers to all that was pushed; then doorbells are notified."""
        answers, self._answers = self._answers, []
        if answers:
            self.now += 1
        elif until is not None:
            self.now = max(self.now, until)
        self._ring()
        return answers

    def _push_atomic(self, request: MemoryRequest) -> None:
        dtype = np.uint32 if request.size == 4 else np.uint64
        assert request.data is not None, "check_shape has looked"
        operands = np.ascontiguousarray(request.data).view(dtype)[:, 0]
        compares: Values | None = request.compares
        if compares is not None:
            compares = np.ascontiguousarray(compares).view(dtype)[:, 0]
        old = self.atomic(request.op, request.addresses, operands, compares)
        if request.returns:
            data = old.view(np.uint8).reshape(-1, request.size)
            self._answer(request, AnswerKind.OLD_VALUES, data)
        else:
            self._answer(request, AnswerKind.PERFORMED, None)

    def _answer(self, request: MemoryRequest, kind: AnswerKind, data: Values | None) -> None:
        lanes = np.arange(len(request.addresses), dtype=np.uint8)
        self._answers.append(Answer(request, kind, self.now, lanes, data))

    def _ring(self) -> None:
        rung, self._rung = self._rung, []
        for allocation, address, data in rung:
            assert allocation.on_store is not None, "only doorbells are noted"
            allocation.on_store(address, data)

    # ------------------------------------------------------------------ any address, any size

    def _first(self, addresses: Addresses) -> Allocation | None:
        return self.space.find(addresses.item(0))

    def _load_slowly(self, addresses: Addresses, size: int) -> Values:
        data = _gather(self.space, addresses, size)
        if size <= 4:
            return data.view(_TYPES[size])[:, 0]
        return data.view(np.uint32)

    def _store_slowly(self, addresses: Addresses, values: Values, size: int) -> None:
        data = np.ascontiguousarray(values).view(np.uint8).reshape(len(addresses), size)
        self._scatter(addresses, data)

    def _scatter(self, addresses: Addresses, data: Values) -> None:
        size = data.shape[1]
        places = self.space.locate(addresses, size, writes=True, loads=False, atomic=False)
        for place, address, row in zip(places, addresses.tolist(), data, strict=True):
            if place.on_store is not None:
                self._rung.append((place, address, row.tobytes()))
                continue
            first = address - place.start
            (place.contents or _contents(place)).bytes[first : first + size] = row


def _contents(allocation: Allocation) -> Contents:
    allocation.contents = made = Contents(allocation.size, allocation.end - allocation.start)
    return made


def _words_at(
    found: Allocation, addresses: Addresses, size: int
) -> tuple[Values, npt.NDArray[np.int64]]:
    """The allocation as words, and which of them are the lanes' ``size`` bytes: see `_index`."""
    index = _index(found, addresses, _SHIFTS[size])
    contents = found.contents or _contents(found)
    if size == 4:
        return contents.dwords, index
    if size == 1:
        return contents.bytes, index
    if size == 2:
        return contents.halves, index
    return contents.dwords, index[:, None] + _STEPS[size >> 2]


def _index(found: Allocation, addresses: Addresses, shift: int) -> npt.NDArray[np.int64]:
    """Positions of the lanes in the allocation's words of 1 << ``shift`` bytes.

    An address that is not aligned, or below the allocation, gives a number that is out of range.
    """
    scratch = _SCRATCH[len(addresses)]
    offset = scratch.offset
    np.subtract(addresses, found.base, offset)
    if shift:
        # Rotated, so that the lowest bits become the highest ones.
        np.left_shift(offset, _HIGH[shift], scratch.high)
        np.right_shift(offset, _LOW[shift], offset)
        np.bitwise_or(offset, scratch.high, offset)
    np.bitwise_and(offset, _BELOW_TOP, offset)  # or it would count from the end
    return scratch.index


def _gather(
    space: AddressSpace, addresses: Addresses, size: int, whole_pages: bool = False
) -> npt.NDArray[np.uint8]:
    """uint8, shape (n, size). Raises Unmapped."""
    out = np.empty((len(addresses), size), np.uint8)
    places = space.locate(
        addresses, size, writes=False, loads=True, atomic=False, whole_pages=whole_pages
    )
    for lane, (place, address) in enumerate(zip(places, addresses.tolist(), strict=True)):
        first = address - place.start
        out[lane] = (place.contents or _contents(place)).pages[first : first + size]
    return out


def _atomic_in_order(
    op: int,
    places: list[Allocation],
    lanes: list[int],
    operands: Values,
    compares: Values | None,
) -> Values:
    """Lanes that conflict on a word, one after the other."""
    size = operands.itemsize
    if op == AtomicKind.ADD and lanes.count(lanes[0]) == len(lanes):
        return _count_up(places[0], lanes[0], operands)
    old = np.empty_like(operands)
    given = operands.tolist()
    expected = [0] * len(lanes) if op != AtomicKind.CAS or compares is None else compares.tolist()
    operations: dict[tuple[int, int], AtomicOp] = {}
    for lane, (place, address) in enumerate(zip(places, lanes, strict=True)):
        words = _words(place, size)
        at = (address - place.start) // size
        before = words.item(at)
        key = (given[lane], expected[lane])
        operation = operations.get(key)
        if operation is None:
            operations[key] = operation = AtomicOp(op, key[0], size, key[1])
        words[at] = operation.apply(before)
        old[lane] = before
    return old


def _count_up(place: Allocation, address: int, operands: Values) -> Values:
    """Every lane adds to the same word."""
    words = _words(place, operands.itemsize)
    at = (address - place.start) // operands.itemsize
    sums: Values = np.cumsum(operands, dtype=operands.dtype)
    before: Values = words[at] + sums - operands
    words[at : at + 1] += sums[-1]  # one number alone would warn when it wraps
    return before


def _words(place: Allocation, size: int) -> Values:
    contents = place.contents or _contents(place)
    return contents.dwords if size == 4 else contents.qwords
