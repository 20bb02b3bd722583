"""Inclusive scopes, over all pairs of a small system."""

from __future__ import annotations

from itertools import product

from gpu.memory_model.scopes import Position, Scope, inclusive, narrowest

POSITIONS = [
    *(Position("gpu", *each) for each in product(range(2), repeat=3)),
    Position("cpu", 0),
    Position("cpu", 1),
]


def test_each_scope_instance_has_to_hold_the_other() -> None:
    wave, group = Position("gpu", 0, 0, 1), Position("gpu", 0, 1)
    here, beyond, core = Position(), Position("gpu", 1), Position("cpu")
    for other, needed in [
        (wave, Scope.wavefront),
        (group, Scope.work_group),
        (beyond, Scope.agent),
        (core, Scope.system),
        (here, Scope.work_item),
    ]:
        for one, its in product(Scope, Scope):
            assert inclusive(here, one, other, its) == (one >= needed and its >= needed)


def test_symmetric_and_widening_keeps_it() -> None:
    for one, other in product(POSITIONS, POSITIONS):
        assert narrowest(one, other) == narrowest(other, one)
        for a, b in product(Scope, Scope):
            assert inclusive(one, a, other, b) == inclusive(other, b, one, a)
            if inclusive(one, a, other, b):
                assert all(inclusive(one, wide, other, b) for wide in Scope if wide > a)
