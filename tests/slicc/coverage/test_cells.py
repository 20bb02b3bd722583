"""Cells of several runs put together, and what is said of each."""

from __future__ import annotations

from slicc.coverage.cells import Cells, MachineCells, Status, System
from slicc.coverage.report import missing, never_hit, summary

A, B, C, D = ("I", "Load"), ("I", "Store"), ("M", "Load"), ("M", "Inv")
ALL = (A, B, C, D)
WHOLE = System("two caches", ("Cache",))


def machine(
    counts: dict[tuple[str, str], int],
    ways: dict[tuple[str, str], tuple[str, ...]] | None = None,
    unsent: tuple[tuple[str, str], ...] = (),
) -> MachineCells:
    every = {cell: counts.get(cell, 0) for cell in ALL}
    return MachineCells(
        ("M", "I"), ("Load", "Store", "Inv"), every, dict(ways or {}), frozenset(unsent)
    )


def cells(one: MachineCells, *exhausted: System) -> Cells:
    return Cells("P", "0" * 16, {"Cache": one}, exhausted)


def test_counts_are_added_and_the_shortest_way_is_kept() -> None:
    found = cells(machine({A: 3}, {B: ("x", "y", "z")}))
    found.merge(cells(machine({A: 4, C: 1}, {B: ("x", "y"), A: ("x",)})))
    found.merge(cells(machine({}, {B: ("x", "y", "z")})))
    assert found.machines["Cache"].counts == {A: 7, B: 0, C: 1, D: 0}
    assert found.machines["Cache"].ways == {B: ("x", "y"), A: ("x",)}


def test_a_cell_is_unsent_only_where_it_is_in_every_part() -> None:
    found = cells(machine({}, unsent=(B, D)))
    found.merge(cells(machine({}, unsent=(D, C))))
    assert found.machines["Cache"].unsent == {D}
    found.merge(Cells("P", "0" * 16, {"Other": machine({})}))
    assert found.machines["Cache"].unsent == {D} and "Other" in found.machines


def test_merging_a_machine_that_is_new_shares_nothing() -> None:
    found, other = Cells("P", "0" * 16), cells(machine({A: 1}))
    found.merge(other)
    found.merge(other)
    assert found.machines["Cache"].counts[A] == 2 and other.machines["Cache"].counts[A] == 1


def test_the_strongest_status_holds() -> None:
    known = machine({A: 1}, {A: ("x",), B: ("x",)}, unsent=(C,))
    found = cells(known)
    assert [found.status("Cache", cell) for cell in ALL] == [
        Status.HIT,
        Status.REACHABLE,
        Status.UNSENT,
        Status.UNKNOWN,
    ]
    found.merge(cells(machine({}, unsent=ALL), WHOLE, System("dma", ("DMA",))))
    assert found.status("Cache", D) is Status.NOT_REACHED
    assert found.note("Cache", D) == "not reached in 1 exhausted system"
    assert found.note("Cache", A) == "hit once"


def test_the_same_system_counts_once() -> None:
    found = cells(machine({}), WHOLE)
    found.merge(cells(machine({}), WHOLE))
    assert found.exhausted == (WHOLE,)


def test_reports_have_every_cell_that_was_not_hit_once() -> None:
    found = cells(machine({A: 1}, {B: ("first", "second")}, unsent=(C,)), WHOLE)
    assert list(summary(found)) == [
        "Cache     4 cells: 1 hit, 1 reachable, not hit, 1 never caused, 1 not reached"
    ]
    assert list(missing(found)) == [
        "Cache (I, Store): reachable in 2 steps",
        "    first",
        "    second",
        "Cache (M, Load): never caused by anything in these systems",
        "Cache (M, Inv): not reached in 1 exhausted system",
    ]
    assert [line.split(":")[1] for line in never_hit(found)] == [
        " 1 reachable, not hit",
        " 1 never caused",
        " 1 not reached",
    ]
