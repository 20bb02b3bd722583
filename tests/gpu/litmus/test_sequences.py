"""The tables: complete, and equal to what compilers emit."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from gpu.code_object.opencl.compiler import compiler_version
from gpu.litmus.sequences import (
    ACCESS,
    LDS_AND_SCALAR,
    PROCESSORS,
    RETURNS,
    VECTOR,
    WAIT,
    Kind,
    Sequence,
    Step,
    sequence_of,
    table,
)
from gpu.memory_model.program import Order, Space
from gpu.memory_model.scopes import Scope
from tests.gpu.litmus import clang as clangs
from tests.sampling import sampled

GLOBAL, LOCAL = clangs.GLOBAL, clangs.LOCAL


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_operation_has_a_row(processor: str) -> None:
    orders = {kind: list(each) for kind, each in clangs.ORDERS.items()}
    orders[Kind.load].append(Order.non_atomic)
    orders[Kind.store].append(Order.non_atomic)
    wanted = {(kind, order, scope) for kind in Kind for order in orders[kind] for scope in Scope}
    assert set(table(processor)) == wanted
    accesses = (row for key, row in table(processor).items() if key[0] is not Kind.fence)
    for row in accesses:
        for column in row.columns:
            assert Counter(step.name for step in column)[ACCESS] == 1


def test_a_row_reads_as_instructions() -> None:
    found = sequence_of("gfx803", Kind.load, Order.seq_cst, Scope.agent, GLOBAL)
    assert [str(step) for step in found] == [
        "s_waitcnt vmcnt(0) lgkmcnt(0)", "access glc", "s_waitcnt vmcnt(0)", "buffer_wbinvl1_vol",
    ]  # fmt: skip


def test_opencl_does_not_order_the_spaces() -> None:
    both = [
        sequence_of("gfx803", Kind.store, Order.release, Scope.work_group, GLOBAL, opencl)
        for opencl in (False, True)
    ]
    assert [len(each) for each in both] == [2, 1]
    fence = sequence_of("gfx803", Kind.fence, Order.acquire, Scope.agent, LOCAL, True)
    assert [str(step) for step in fence] == ["s_waitcnt lgkmcnt(0)"]


def _expected(processor: str, release: int, key: clangs.Key, hsa: bool) -> Sequence:
    """As in the table, with the bit of a returned value, and the wait for a loaded one."""
    kind, order, scope, spaces, used, _ = key
    order = _OTHERWISE.get((processor, release < 15, kind, order, scope), order)
    steps = list(sequence_of(processor, kind, order, scope, spaces, not hsa))
    if used and Space.global_ in spaces:
        bit = RETURNS[processor]
        steps = [
            Step(ACCESS, tuple(dict.fromkeys((bit, *step.parts)))) if step.name == ACCESS else step
            for step in steps
        ]
    if kind is Kind.load and order is not Order.non_atomic:
        _wait_for_value(steps, spaces)
    return tuple(steps)


_OTHERWISE = {
    ("gfx90a", True, Kind.fence, Order.acquire, Scope.system): Order.acq_rel,
}
"""For what clang emits the row of another order. Clang 14 writes back at an acquire fence, too; the
document and later releases do not."""


def _wait_for_value(steps: list[Step], spaces: frozenset[Space]) -> None:
    """A loaded register may not be reused before the value is there."""
    behind = [part for step in steps[steps.index(_access(steps)) :] for part in step.parts]
    counters = {VECTOR: Space.global_ in spaces, LDS_AND_SCALAR: Space.local in spaces}
    left = tuple(name for name, on in counters.items() if on and name not in behind)
    if not left:
        return
    last = steps[-1]
    if last.name == WAIT:
        steps[-1] = Step(WAIT, tuple(n for n in counters if n in last.parts or n in left))
    else:
        steps.append(Step(WAIT, left))


def _access(steps: list[Step]) -> Step:
    return next(step for step in steps if step.name == ACCESS)


@pytest.mark.parametrize("name", [pytest.param("clang-14", marks=pytest.mark.slow), "clang-19"])
@pytest.mark.parametrize(("form", "processor"), sampled(product(clangs.FORMS, PROCESSORS), 3))
def test_clang_emits_the_same(processor: str, form: str, name: str, tmp_path: Path) -> None:
    clang, said = shutil.which(name), clangs.FORMS[form]
    if clang is None:
        pytest.skip(f"no {name}")
    release = int(compiler_version(clang).split(".")[0])
    if processor == "gfx942" and release < 17:
        pytest.skip(f"clang {release} does not know gfx942")
    if said.tagged and release < 19:
        pytest.skip(f"fences of clang {release} name no address spaces")
    keys = said.operations()
    wrong = [
        f"{key}: {_text(steps)} instead of {_text(right)}"
        for key, steps in zip(keys, clangs.emitted(clang, processor, tmp_path, said), strict=True)
        if _joined(steps) != _joined(right := _expected(processor, release, key, said.hsa))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_row_is_compared() -> None:
    """Each order and scope of an operation, and each column of its row, with one order for both
    address spaces and, but for fences, with one for each."""
    compared = {
        (form.hsa, key.kind, key.order, key.scope, key.spaces)
        for form in clangs.FORMS.values()
        for key in form.operations()
    }
    named = {Scope.wavefront, Scope.work_group, Scope.agent, Scope.system}
    for hsa, (kind, order, scope), spaces in product((False, True), table("gfx803"), clangs.SPACES):
        if kind is Kind.fence and (not hsa or scope not in named):
            continue
        assert (hsa, kind, order, scope, spaces) in compared


def _joined(steps: Sequence) -> list[tuple[str, frozenset[str]]]:
    """Waits that stand together are one: compilers write them together or apart."""
    made: list[tuple[str, frozenset[str]]] = []
    for step in steps:
        if made and step.name == WAIT == made[-1][0]:
            made[-1] = WAIT, made[-1][1] | set(step.parts)
        else:
            made.append((step.name, frozenset(step.parts)))
    return made


def _text(steps: Sequence) -> str:
    return "; ".join(map(str, steps)) or "nothing"
