"""Entries, walks and what a process has mapped, on tables that are bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.memory.address_space import PAGE, AddressSpace, Unmapped
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.virtual.page_table import (
    LEVELS,
    READABLE,
    VALID,
    WRITEABLE,
    Entry,
    PageFault,
    aperture,
    place,
    walk,
    walk_at_once,
)
from gpu.memory.virtual.process_space import ProcessSpace

FIRST = aperture(8).start


class Mapped:
    """A process's space over flat memory, whose tables are written as they change."""

    def __init__(self) -> None:
        self.memory = FlatMemory()
        self.forgotten: list[tuple[int, range]] = []
        self.space = ProcessSpace(
            8, self.memory.space, FIRST, lambda vmid, pages: self.forgotten.append((vmid, pages))
        )

    def load(self, address: int) -> int:
        return int.from_bytes(self.memory.read(address, 8), "little")

    def where(self, address: int) -> Entry:
        while self.space.updates:
            self.memory.write(*self.space.updates.popleft())
        return walk_at_once(self.load, self.space.root, address)


def test_every_page_is_translated_to_what_lies_behind_it() -> None:
    mapped = Mapped()
    sizes = [1, PAGE, 5 * PAGE + 1, 600 * PAGE, 2 << 20]
    made = [mapped.space.allocate(size, writable=size != PAGE) for size in sizes]
    for allocation in made:
        behind = mapped.space.behind(allocation).start
        for offset in range(0, allocation.end - allocation.start, PAGE):
            entry = mapped.where(allocation.start + offset)
            assert entry == Entry(behind + offset, True, allocation.writable)
        for outside in (allocation.start - PAGE, allocation.end):
            with pytest.raises(PageFault, match="is not valid"):
                mapped.where(outside)


def test_what_is_freed_is_forgotten_and_no_longer_translated() -> None:
    mapped = Mapped()
    kept, freed = mapped.space.allocate(PAGE), mapped.space.allocate(3 * PAGE)
    mapped.where(freed.start)
    mapped.space.free(freed.start)
    first = freed.start // PAGE
    assert mapped.forgotten == [(8, range(first, first + 3))]
    assert mapped.where(kept.start).readable
    with pytest.raises(PageFault):
        mapped.where(freed.start + PAGE)


def test_closing_gives_all_memory_back() -> None:
    mapped = Mapped()
    for size in (1, 3 << 21):
        mapped.space.allocate(size)
    mapped.space.map_doorbells(PAGE, lambda address, data: None)
    mapped.space.close()
    assert not mapped.memory.space.allocations


def test_doorbells_are_stored_into_and_not_read() -> None:
    mapped = Mapped()
    stores: list[tuple[int, bytes]] = []
    bells = mapped.space.map_doorbells(PAGE, lambda *store: stores.append(store))
    entry = mapped.where(bells.start)
    assert entry.writeable and not entry.readable
    mapped.memory.store_dwords(entry.address + 8, [5])
    assert stores == [(bells.start + 8, b"\x05\0\0\0")]


def test_parts_lie_side_by_side_in_addresses_alone() -> None:
    mapped = Mapped()
    first, second = mapped.space.allocate_parts([(PAGE, False), (PAGE, True)])
    assert first.end == second.start
    assert not mapped.where(first.start).writeable and mapped.where(second.start).writeable
    with pytest.raises(Unmapped, match="past the end"):
        mapped.space.at(first.end - 4, 8)


@given(st.integers(0, 1 << 64), st.integers(0, (1 << 64) - 1))
def test_a_walk_ends_whatever_it_finds(address: int, word: int) -> None:
    """Tables that point at themselves included."""
    loads = []
    steps = walk(word & ~4095, address)
    try:
        loads.append(next(steps))
        while True:
            loads.append(steps.send(word))
    except StopIteration as end:
        assert end.value == Entry.unpack(word, 0)
    except PageFault as fault:
        assert "level 3" in str(fault)
    assert len(loads) in (1, LEVELS)


@given(st.integers(0, (1 << 36) - 1), st.booleans(), st.booleans())
def test_entries_round_trip(page: int, readable: bool, writeable: bool) -> None:
    entry = Entry(page * PAGE, readable, writeable)
    assert Entry.unpack(entry.pack(), 0) == entry


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (0, "of level 2 is not valid"),
        (READABLE | WRITEABLE, "is not valid"),
        (VALID | 2, "has reserved bits: 0x3"),
        (VALID | 1 << 48, "has reserved bits"),
        ((1 << 64) - 1, "has reserved bits"),
    ],
)
def test_entries_that_are_none(word: int, why: str) -> None:
    with pytest.raises(PageFault, match=why):
        Entry.unpack(word, 2)


def test_addresses_of_vmids_are_apart() -> None:
    space = AddressSpace()
    assert space.allocate(1).start not in aperture(8)
    assert aperture(8).stop == aperture(9).start and aperture(15).stop == 1 << 47
    assert place(0x1000, aperture(8).start, LEVELS - 1) == 0x1000 + 8 * 128
